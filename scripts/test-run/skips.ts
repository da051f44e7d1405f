/** What was skipped, and what may be: the list in `skips.tsv`. */

/** Tests that were skipped for one reason. */
export interface Skips {
  reason: string;
  /** `path: name` of each. */
  tests: string[];
}

/** A line of the list. */
export interface AllowedSkips {
  reason: string;
  count: number;
  /** Why the tests cannot run on the CI machine. */
  why: string;
}

/** Lines of `count<TAB>reason<TAB>why`; those that begin with # are comments. */
export function parseAllowedSkips(text: string): AllowedSkips[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [count, reason, why] = line.split('\t');
    if (!/^\d+$/.test(count!) || !reason || !why)
      throw new Error(`skips.tsv: "${line}" is not COUNT, REASON and WHY between tabs.`);
    return { reason, count: Number(count), why };
  });
}

/** What the skips of a whole run have beyond the list, a line each. */
export function checkSkips(skips: readonly Skips[], allowed: readonly AllowedSkips[]): string[] {
  const limits = new Map(allowed.map(({ reason, count }) => [reason, count]));
  return skips.flatMap(({ reason, tests }) => {
    const limit = limits.get(reason) ?? 0;
    if (tests.length <= limit) return [];
    return [
      `${tests.length} tests are skipped because "${reason}"; skips.tsv allows ${limit}:`,
      ...tests.map((test) => `  ${test}`),
    ];
  });
}

/** Lines of the list that are longer than this run needed: for whoever shortens it. */
export function needlessSkips(skips: readonly Skips[], allowed: readonly AllowedSkips[]): string[] {
  const found = new Map(skips.map(({ reason, tests }) => [reason, tests.length]));
  return allowed
    .filter(({ reason, count }) => (found.get(reason) ?? 0) < count)
    .map(
      ({ reason, count }) =>
        `skips.tsv allows ${count} for "${reason}"; here it were ${found.get(reason) ?? 0}.`,
    );
}
