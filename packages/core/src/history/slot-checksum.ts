import { AT_CHECKSUM, SLOT_HEAD_BYTES } from './layout.ts';

const FIRST = 0x811c9dc5;
const FACTOR = 0x01000193;
const WORD = 4;

/**
 * Of the head of a slot before its checksum, and of its record; never 0, which says that there is none.
 * Each step can be undone, and so whatever is damaged within one word is noticed, always.
 */
export function slotChecksum(view: DataView, at: number, headBytes: number, recordBytes: number): number {
  let sum = ofWords(view, at, at + AT_CHECKSUM, FIRST);
  const record = at + headBytes;
  const whole = recordBytes - (recordBytes % WORD);
  sum = ofWords(view, record, record + whole, sum);
  for (let rest = whole; rest < recordBytes; rest++) sum = step(sum, view.getUint8(record + rest));
  return sum === 0 ? 1 : sum;
}

/** Whether slots of this size of head have room for one. */
export function hasChecksum(headBytes: number): boolean {
  return headBytes >= SLOT_HEAD_BYTES;
}

function ofWords(view: DataView, from: number, to: number, before: number): number {
  let sum = before;
  for (let at = from; at < to; at += WORD) sum = step(sum, view.getUint32(at, true));
  return sum;
}

function step(sum: number, word: number): number {
  return Math.imul(((sum << 5) | (sum >>> 27)) ^ word, FACTOR) >>> 0;
}
