/**
 * Whether two histograms can be samples of one distribution: the two-sample chi-square statistic, and the
 * value it stays below but once in a million times where they are (its distribution is nearly normal
 * around the degrees of freedom).
 *
 *   sum over cells of (a·√(B/A) − b·√(A/B))² / (a + b),  A and B the totals
 */
export function agreement(
  first: ReadonlyMap<string, number>,
  second: ReadonlyMap<string, number>,
): { statistic: number; bound: number; cells: number } {
  const pairs = new Map<string, [number, number]>();
  const rare: [number, number] = [0, 0];
  for (const name of new Set([...first.keys(), ...second.keys()])) {
    const pair: [number, number] = [first.get(name) ?? 0, second.get(name) ?? 0];
    // The approximation holds from about five a cell on; what is rarer is one cell together.
    if (pair[0] + pair[1] >= 10) pairs.set(name, pair);
    else {
      rare[0] += pair[0];
      rare[1] += pair[1];
    }
  }
  if (rare[0] + rare[1] > 0) pairs.set('(rare)', rare);
  const totals = [0, 1].map((side) => [...pairs.values()].reduce((sum, pair) => sum + pair[side]!, 0));
  const ratio = Math.sqrt(totals[1]! / totals[0]!);
  let statistic = 0;
  for (const [a, b] of pairs.values()) statistic += (a * ratio - b / ratio) ** 2 / (a + b);
  const degrees = Math.max(1, pairs.size - 1);
  // Wilson and Hilferty: the cube root of chi-square over its degrees is nearly normal. 4.75
  // deviations: one in a million.
  const spread = 2 / (9 * degrees);
  return { statistic, bound: degrees * (1 - spread + 4.75 * Math.sqrt(spread)) ** 3, cells: pairs.size };
}
