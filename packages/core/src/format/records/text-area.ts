/** The text at the end of a record: `text NUL`, and zeros up to a multiple of 8 from the record's start. */
import { textUpToNul } from '../../base/index.ts';
import type { BodyReader } from './body-reader.ts';

/**
 * The rest of the record as text. If `BodyWriter.text` would write other bytes for this text, the record
 * keeps the original bytes too.
 */
export function readText(reader: BodyReader, record: { textArea?: Uint8Array }): string {
  const { offset } = reader;
  const area = reader.rest();
  if (!isCanonical(area, offset)) record.textArea = area;
  return textUpToNul(area);
}

function isCanonical(area: Uint8Array, offsetInRecord: number): boolean {
  const nul = area.indexOf(0);
  if (nul < 0 || area.length !== paddedTextSize(nul, offsetInRecord)) return false;
  for (let i = nul; i < area.length; i++) if (area[i] !== 0) return false;
  return area.every((byte) => byte < 0x80) || isPlainUtf8(area.subarray(0, nul));
}

function isPlainUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * Bytes of a text of `length` bytes with its NUL and the zeros after it. The record ends on a multiple of 8.
 */
export function paddedTextSize(length: number, offsetInRecord: number): number {
  return Math.ceil((offsetInRecord + length + 1) / 8) * 8 - offsetInRecord;
}
