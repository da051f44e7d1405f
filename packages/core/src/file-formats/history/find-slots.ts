import type { ByteSource } from '../../base/index.ts';
import { findSideband } from './history-sideband.ts';
import {
  type FooterPlaces,
  type HistoryPlaces,
  LEAST_SLOT_HEAD_BYTES,
  MOST_STRIDE_BYTES,
  SLOT_MARKER,
} from './layout.ts';

/** Read at a time. */
const PIECE_BYTES = 1 << 20;
/** How much of a damaged file is looked at until slots must have begun. */
const MOST_LOOKED_AT_BYTES = 64 << 20;
/** Markers that are looked behind: bytes that are made to deceive have many. */
const MOST_MARKERS = 256;
/** A record's own header says its size at this offset. */
const RECORD_SIZE_AT = 6;

/** What a slot says at its beginning. */
export interface SlotHead {
  /** Of the record. */
  bytes: number;
  sequence: number;
  timeNs: bigint;
}

/** Null where no whole slot begins: another marker, or a record that does not fit. */
export function readSlotHead(view: DataView, at: number, places: HistoryPlaces): SlotHead | null {
  const { headBytes, strideBytes } = places;
  if (at + strideBytes > view.byteLength || view.getUint32(at, true) !== SLOT_MARKER) return null;
  const bytes = view.getUint32(at + 4, true);
  if (bytes < 8 || headBytes + bytes > strideBytes) return null;
  return {
    bytes,
    sequence: Number(view.getBigUint64(at + 8, true)),
    timeNs: view.getBigUint64(at + 16, true),
  };
}

/**
 * Where page 0 and the footer are damaged: slots are found by their markers. Two that follow each other in
 * sequence say the stride; where a record begins says how long heads are. The sideband stands behind them.
 * Null if there are no slots.
 */
export async function findSlots(source: ByteSource): Promise<FooterPlaces | null> {
  const end = Math.min(source.size, MOST_LOOKED_AT_BYTES);
  let markers = 0;
  for (let offset = 0; offset < end; offset += PIECE_BYTES) {
    const piece = await source.read(offset, PIECE_BYTES + 2 * MOST_STRIDE_BYTES);
    const view = new DataView(piece.buffer, piece.byteOffset, piece.length);
    for (let at = 0; at < Math.min(PIECE_BYTES, piece.length - LEAST_SLOT_HEAD_BYTES); at += 8) {
      if (view.getUint32(at, true) !== SLOT_MARKER) continue;
      if (++markers > MOST_MARKERS) return null;
      const strideBytes = distanceToNext(view, at);
      const headBytes = strideBytes === 0 ? 0 : headOf(view, at, strideBytes);
      if (headBytes === 0) continue;
      const recordsOffset = offset + at;
      // As many as there may be: those that are none are told when they are read.
      const recordCount = await countSlots(source, recordsOffset, strideBytes);
      return {
        strideBytes,
        headBytes,
        recordsOffset,
        recordCount,
        firstSequence: Number(view.getBigUint64(at + 8, true)),
        ...(await findSideband(source, recordsOffset + recordCount * strideBytes)),
        indexOffset: 0,
        indexBytes: 0,
        hasChecksums: false,
        sidebandChecksum: 0,
        indexChecksum: 0,
      };
    }
  }
  return null;
}

/** To the slot with the next number; 0 if there is none. */
function distanceToNext(view: DataView, at: number): number {
  const next = view.getBigUint64(at + 8, true) + 1n;
  const last = Math.min(at + MOST_STRIDE_BYTES, view.byteLength - LEAST_SLOT_HEAD_BYTES);
  for (let other = at + LEAST_SLOT_HEAD_BYTES + 8; other <= last; other += 8)
    if (view.getUint32(other, true) === SLOT_MARKER && view.getBigUint64(other + 8, true) === next)
      return other - at;
  return 0;
}

/** The record behind the head says the same size as the head; 0 where none does. */
function headOf(view: DataView, at: number, strideBytes: number): number {
  const bytes = view.getUint32(at + 4, true);
  for (let head = LEAST_SLOT_HEAD_BYTES; head + bytes <= strideBytes; head += 8) {
    const sizeAt = at + head + RECORD_SIZE_AT;
    if (view.getUint16(sizeAt, true) === bytes || view.getUint16(sizeAt, false) === bytes) return head;
  }
  return 0;
}

/** Slots from `offset` on, up to the first place where none begins. */
async function countSlots(source: ByteSource, offset: number, strideBytes: number): Promise<number> {
  const most = Math.floor((source.size - offset) / strideBytes);
  const hasSlot = async (n: number): Promise<boolean> => {
    const bytes = await source.read(offset + n * strideBytes, 4);
    return (
      bytes.length === 4 && new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === SLOT_MARKER
    );
  };
  // Behind the slots stands what has no markers: halve.
  let [low, high] = [1, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await hasSlot(middle - 1)) low = middle;
    else high = middle - 1;
  }
  return low;
}
