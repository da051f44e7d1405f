import { CHECKSUM_START, checksumOn, notZero } from './checksum.ts';
import { AT_CHECKSUM, SLOT_HEAD_BYTES } from './layout.ts';

/** Of the head of a slot before its checksum, and of its record. */
export function slotChecksum(view: DataView, at: number, headBytes: number, recordBytes: number): number {
  const head = checksumOn(view, at, at + AT_CHECKSUM, CHECKSUM_START);
  const record = at + headBytes;
  return notZero(checksumOn(view, record, record + recordBytes, head));
}

/** Whether slots of this size of head have room for one. */
export function hasChecksum(headBytes: number): boolean {
  return headBytes >= SLOT_HEAD_BYTES;
}
