/**
 * How many bytes at the beginning of `next` stand at the end of `previous` already: two snapshots of one
 * ring, of which the second was taken before all of the first was written over.
 *
 *   previous  x x x x x S a b S c d
 *   next            w w S a b S c d e f      the oldest bytes (w) may be half written over, so the first mark S counts
 *                   `------ 8 ----'
 *
 * `findMark` gives the first place from an offset on where decoding can begin, or -1. 0
 * where they have nothing in common.
 */
export function overlapOf(
  previous: Uint8Array,
  next: Uint8Array,
  findMark: (bytes: Uint8Array, from: number) => number,
): number {
  const first = findMark(next, 0);
  if (first < 0) return 0;
  for (let at = findMark(previous, 0); at >= 0; at = findMark(previous, at + 1)) {
    const length = previous.length - at;
    if (first + length <= next.length && isSame(previous, at, next, first, length)) return first + length;
  }
  return 0;
}

/** Backwards: the newest bytes differ first, where they are of other times. */
function isSame(a: Uint8Array, aFrom: number, b: Uint8Array, bFrom: number, length: number): boolean {
  for (let at = length - 1; at >= 0; at--) if (a[aFrom + at] !== b[bFrom + at]) return false;
  return true;
}
