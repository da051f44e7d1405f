import type { ByteSource } from '@counterpoint/core/base';
import type { AuxPiece } from './aux-index.ts';
import type { AuxQueue } from './aux-queues.ts';
import { overlapOf } from './overlap.ts';

/** Bytes of a trace without a gap. */
export interface AuxStretch {
  bytes: Uint8Array;
  /** It goes on where the one before ended, which was long enough: nothing is missing in between. */
  isContinued: boolean;
  /** The trace's clock at its first piece; 0: not known. */
  reference: bigint;
}

export interface StretchOptions {
  /**
   * Pieces are pictures of a ring that was written over and over: they may have bytes in
   * common, or a gap between them.
   */
  isSnapshot: boolean;
  /**
   * The first, or the last, place from an offset on (up to an offset) where decoding can begin; -1 for none.
   */
  findMark: (bytes: Uint8Array, from: number) => number;
  findLastMark: (bytes: Uint8Array, before: number) => number;
  /** Stretches are cut, at a mark, before they are longer. */
  longestBytes?: number;
}

const LONGEST_BYTES = 128 << 20;
const NO_BYTES = new Uint8Array();

/**
 * The bytes of a queue, joined where they follow each other.
 *
 *   pieces      [0, 4096) [4096, 8192)   [12288, 16384)      offsets in the ring's whole life
 *   stretches   `--------------------'   `------------'
 */
export async function* readStretches(
  queue: AuxQueue,
  source: ByteSource,
  options: StretchOptions,
): AsyncGenerator<AuxStretch, void, undefined> {
  const { findLastMark, longestBytes = LONGEST_BYTES } = options;
  let parts: Uint8Array[] = [];
  let size = 0;
  let reference = 0n;
  let isContinued = false;
  let last: { piece: AuxPiece; bytes: Uint8Array } | null = null;
  for (const piece of queue.pieces) {
    let bytes: Uint8Array = await readPiece(piece, source);
    const whole = bytes;
    let follows = false;
    if (last !== null && options.isSnapshot) {
      const overlap = overlapOf(last.bytes, bytes, options.findMark);
      bytes = bytes.subarray(overlap);
      follows = overlap > 0;
    } else if (last !== null)
      follows = piece.auxOffset === last.piece.auxOffset + BigInt(last.piece.sizeBytes);
    if (!follows && size > 0) {
      yield { bytes: joined(parts, size), isContinued, reference };
      parts = [];
      size = 0;
      isContinued = false;
    }
    if (size === 0) reference = piece.reference;
    parts.push(bytes);
    size += bytes.length;
    last = { piece, bytes: options.isSnapshot ? whole : NO_BYTES };
    if (size < longestBytes) continue;
    const all = joined(parts, size);
    const mark = findLastMark(all, all.length);
    // Without a mark to begin at, it has to grow.
    if (mark <= 0) parts = [all];
    else {
      yield { bytes: all.subarray(0, mark), isContinued, reference };
      parts = [all.subarray(mark)];
      size -= mark;
      reference = piece.reference;
      isContinued = true;
    }
  }
  if (size > 0) yield { bytes: joined(parts, size), isContinued, reference };
}

async function readPiece(piece: AuxPiece, source: ByteSource): Promise<Uint8Array> {
  const { fileOffset, sizeBytes, bytes } = piece;
  if (bytes !== undefined) return bytes;
  const size = Math.max(0, Math.min(sizeBytes, source.size - fileOffset));
  return size === 0 ? NO_BYTES : source.read(fileOffset, size);
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
