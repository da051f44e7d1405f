/** Of no bytes yet. */
export const CHECKSUM_START = 0x811c9dc5;
const FACTOR = 0x01000193;
const WORD = 4;

/**
 * A checksum with more bytes: by words, and what is left by bytes. Each step can be undone, and so whatever
 * is damaged within one word is noticed, always.
 */
export function checksumOn(view: DataView, from: number, to: number, before: number): number {
  let sum = before;
  const whole = to - ((to - from) % WORD);
  for (let at = from; at < whole; at += WORD) sum = step(sum, view.getUint32(at, true));
  for (let at = whole; at < to; at++) sum = step(sum, view.getUint8(at));
  return sum;
}

/** Earlier writers left 0 where they knew of no checksum: none is 0. */
export function notZero(sum: number): number {
  return sum === 0 ? 1 : sum;
}

/** Of bytes whose checksum stands elsewhere. */
export function checksumOf(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return notZero(checksumOn(view, 0, bytes.length, CHECKSUM_START));
}

/** Of bytes that have their checksum among them, at `checksumAt`: of all others. */
export function checksumAround(view: DataView, checksumAt: number): number {
  const before = checksumOn(view, 0, checksumAt, CHECKSUM_START);
  return notZero(checksumOn(view, checksumAt + WORD, view.byteLength, before));
}

function step(sum: number, word: number): number {
  return Math.imul(((sum << 5) | (sum >>> 27)) ^ word, FACTOR) >>> 0;
}
