/** Near misses: which known names did a person probably mean? */

/**
 * The smallest number of single-character insertions, deletions, replacements and swaps of neighbours that
 * turn `a` into `b`, or `limit + 1` when it is more than `limit`.
 */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    let best = row;
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, beforeLast[column - 2]! + 1);
      }
      current.push(cost);
      if (cost < best) best = cost;
    }
    if (best > limit) return limit + 1;
    beforeLast = last;
    last = current;
  }
  return Math.min(last[b.length]!, limit + 1);
}

/** Longer words are not worth comparing: nobody means a name by them. */
const LONGEST_WORD = 64;

/**
 * Up to `count` of `names` that `word` may have been meant to be, nearest first: few edits away (a third of
 * its length), or names that begin with the word.
 */
export function nearestNames(word: string, names: Iterable<string>, count = 3): string[] {
  if (word.length === 0 || word.length > LONGEST_WORD) return [];
  const lower = word.toLowerCase();
  const limit = Math.max(1, Math.floor(word.length / 3));
  const found = new Map<string, number>();
  for (const name of names) {
    const candidate = name.toLowerCase();
    let distance = editDistance(lower, candidate, limit);
    if (distance > limit) {
      if (lower.length < 3 || !candidate.startsWith(lower)) continue;
      distance = limit + candidate.length / 1000;
    }
    found.set(name, distance);
  }
  return [...found]
    .sort(([a, distanceA], [b, distanceB]) => distanceA - distanceB || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([name]) => name);
}

/** `; did you mean A, B or C?`, or nothing when no name is near. */
export function didYouMean(names: readonly string[]): string {
  if (names.length === 0) return '';
  const last = names[names.length - 1]!;
  return `; did you mean ${names.length === 1 ? last : `${names.slice(0, -1).join(', ')} or ${last}`}?`;
}
