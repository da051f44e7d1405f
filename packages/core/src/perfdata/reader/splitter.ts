import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_USER_TYPE_START,
  RECORD_HEADER_SIZE,
} from '../../abi/index.ts';
import { type DamageLog, TWO_32 } from '../../base/index.ts';
import type { Chunk, ChunkSource } from './chunk-source.ts';
import { ChunkPool } from './chunk-source.ts';
import type { EventTable } from './event-table.ts';
import { readU64 } from './file-header.ts';
import type { OrderQueue } from './order-queue.ts';
import { findNextRecord } from './resync.ts';
import { DecompressedTooLarge, type ZstdFactory, type ZstdStream } from './zstd.ts';

/** Trace metadata is some megabytes; more than this is damage. */
const MAX_TRACING_DATA_SIZE = 256 << 20;

export interface SplitterHooks {
  /** A record of user space, in file order; `chunk` is borrowed. */
  userRecord(chunk: Chunk, start: number, end: number, type: number): void;
  /** A kernel record without time, delivered at once. */
  untimedRecord(chunk: Chunk, start: number): void;
  /** The metadata that followed a HEADER_TRACING_DATA record. */
  tracingData(bytes: Uint8Array): void;
}

/**
 * Cuts chunks into records: hands kernel records to the ordering queue by their time, follows compressed records into
 * their content, steps over AUX data, and finds its way again after damage.
 */
export class Splitter {
  private readonly le: boolean;
  private readonly damage: DamageLog;
  private readonly events: EventTable;
  private readonly queue: OrderQueue;
  private readonly hooks: SplitterHooks;
  private readonly makeZstd: ZstdFactory;
  private readonly pool = new ChunkPool();
  private zstd: ZstdStream | null = null;
  private zstdBroken = false;
  /** The unparsed end of what was decompressed so far. */
  private innerCarry: Uint8Array = new Uint8Array();
  /** Clock value that times are relative to, so that they stay exact in float64: the first one seen. */
  baseLo = 0;
  baseHi = 0;
  private hasBase = false;
  /** Everything goes out at once, in file order. */
  isUnordered = false;
  /** Bytes of hardware trace that were stepped over. */
  auxTraceBytes = 0;
  /** Payload bytes still to be left out after the last chunk. */
  skipAfterChunk = 0;
  private tracing: { bytes: Uint8Array; filled: number; size: number } | null = null;

  constructor(
    littleEndian: boolean,
    damage: DamageLog,
    events: EventTable,
    queue: OrderQueue,
    hooks: SplitterHooks,
    makeZstd: ZstdFactory,
  ) {
    this.le = littleEndian;
    this.damage = damage;
    this.events = events;
    this.queue = queue;
    this.hooks = hooks;
    this.makeZstd = makeZstd;
  }

  /** Parse all whole records of a chunk; returns where the rest begins. */
  parse(chunk: Chunk, isInner = false): number {
    const { view, length } = chunk;
    const le = this.le;
    let pos = 0;
    if (this.tracing !== null && !isInner) pos = this.collectTracing(chunk, 0);
    while (pos + RECORD_HEADER_SIZE <= length) {
      const size = view.getUint16(pos + 6, le);
      if (size < RECORD_HEADER_SIZE) {
        this.damage.add('bad-record-size', chunk.fileOffset + pos);
        pos = findNextRecord(view, pos, length, le);
        continue;
      }
      const end = pos + size;
      if (end > length) break;
      const type = view.getUint32(pos, le);
      if (type < PERF_RECORD_USER_TYPE_START) this.kernelRecord(chunk, pos, end, type);
      else {
        const next = this.userRecord(chunk, pos, end, type, isInner);
        if (next !== end) {
          pos = next;
          continue;
        }
      }
      pos = end;
    }
    return Math.min(pos, length);
  }

  private kernelRecord(chunk: Chunk, start: number, end: number, type: number): void {
    const { view } = chunk;
    const le = this.le;
    const at = this.events.timeOffset(view, start, end, type, le);
    if (at >= 0) {
      const lo = view.getUint32(at + (le ? 0 : 4), le);
      const hi = view.getUint32(at + (le ? 4 : 0), le);
      // 0 is what synthesised records carry, all ones what perf takes for "none": both go out at once.
      if ((lo !== 0 || hi !== 0) && (lo & hi) >>> 0 !== 0xffff_ffff) {
        if (!this.hasBase) {
          this.hasBase = true;
          this.baseLo = lo;
          this.baseHi = hi;
        }
        if (!this.isUnordered) {
          this.queue.push((hi - this.baseHi) * TWO_32 + (lo - this.baseLo), chunk, start);
          return;
        }
      }
    }
    this.hooks.untimedRecord(chunk, start);
  }

  /** Returns where to go on: the record's end, or further where a payload follows it. */
  private userRecord(chunk: Chunk, start: number, end: number, type: number, isInner: boolean): number {
    const { view } = chunk;
    this.hooks.userRecord(chunk, start, end, type);
    if (type === PERF_RECORD_FINISHED_ROUND) this.queue.finishRound();
    else if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) {
      if (isInner) this.damage.add('nested-compression', chunk.fileOffset + start);
      else this.compressed(chunk, start, end, type);
    } else if (type === PERF_RECORD_AUXTRACE && !isInner) {
      const size = end - start >= 16 ? readU64(view, start + 8, this.le) : 0;
      this.auxTraceBytes += size;
      return this.stepOver(chunk, end, size);
    } else if (type === PERF_RECORD_HEADER_TRACING_DATA && !isInner) {
      const size = end - start >= 12 ? view.getUint32(start + 8, this.le) : 0;
      return this.beginTracing(chunk, start, end, size);
    }
    return end;
  }

  private stepOver(chunk: Chunk, from: number, size: number): number {
    const here = Math.min(size, chunk.length - from);
    this.skipAfterChunk = size - here;
    return from + here;
  }

  private beginTracing(chunk: Chunk, start: number, end: number, size: number): number {
    if (size > MAX_TRACING_DATA_SIZE) {
      this.damage.add('tracing-data-too-large', chunk.fileOffset + start);
      return this.stepOver(chunk, end, size);
    }
    // Padded to 8. Memory grows with what arrives, not with what is claimed.
    this.tracing = {
      bytes: new Uint8Array(Math.min(size, 1 << 16)),
      filled: 0,
      size: Math.ceil(size / 8) * 8,
    };
    return this.collectTracing(chunk, end);
  }

  private collectTracing(chunk: Chunk, from: number): number {
    const tracing = this.tracing!;
    const taken = Math.min(tracing.size - tracing.filled, chunk.length - from);
    if (tracing.filled + taken > tracing.bytes.length) {
      const bigger = new Uint8Array(
        Math.min(tracing.size, Math.max(tracing.filled + taken, tracing.bytes.length * 2)),
      );
      bigger.set(tracing.bytes.subarray(0, tracing.filled));
      tracing.bytes = bigger;
    }
    tracing.bytes.set(chunk.bytes.subarray(from, from + taken), tracing.filled);
    tracing.filled += taken;
    if (tracing.filled >= tracing.size) {
      this.tracing = null;
      this.hooks.tracingData(tracing.bytes.subarray(0, tracing.filled));
    }
    return from + taken;
  }

  private compressed(chunk: Chunk, start: number, end: number, type: number): void {
    const offset = chunk.fileOffset + start;
    if (this.zstdBroken) return;
    let from = start + RECORD_HEADER_SIZE;
    let to = end;
    if (type === PERF_RECORD_COMPRESSED2) {
      // The stated size leaves out the padding that keeps records at multiples of 8.
      const stated = end - start >= 16 ? readU64(chunk.view, from, this.le) : 0;
      from += 8;
      if (stated > to - from) this.damage.add('bad-compressed-size', offset);
      else to = from + stated;
    }
    try {
      this.zstd ??= this.makeZstd();
      const pieces = this.zstd.push(chunk.bytes.subarray(from, to));
      if (pieces.length > 0) this.parseInner(pieces, offset);
    } catch (error) {
      // A Zstandard stream cannot be entered again in the middle, so all compressed records after this one are lost.
      this.zstdBroken = true;
      this.damage.add(
        error instanceof DecompressedTooLarge ? 'compressed-too-large' : 'bad-compressed-data',
        offset,
      );
    }
  }

  private parseInner(pieces: Uint8Array[], fileOffset: number): void {
    const size = pieces.reduce((sum, piece) => sum + piece.length, this.innerCarry.length);
    const inner = this.pool.make(size, fileOffset);
    inner.bytes.set(this.innerCarry);
    let filled = this.innerCarry.length;
    for (const piece of pieces) {
      inner.bytes.set(piece, filled);
      filled += piece.length;
    }
    inner.length = filled;
    const consumed = this.parse(inner, true);
    this.innerCarry = inner.bytes.slice(consumed, filled);
    if (inner.pending === 0) this.pool.recycle(inner);
  }

  /** The data has ended with `left` unparsed bytes at `fileOffset`. */
  finish(left: number, fileOffset: number): void {
    if (left > 0) this.damage.add('record-cut', fileOffset);
    if (this.innerCarry.length > 0) this.damage.add('record-cut', fileOffset);
    if (this.tracing !== null) this.damage.add('tracing-data-cut', fileOffset);
  }
}

/** Drive all chunks through a splitter. */
export async function splitAll(
  chunks: ChunkSource,
  splitter: Splitter,
  queue: OrderQueue,
  each: () => void | Promise<void>,
): Promise<{ cutBytes: number; cutOffset: number }> {
  let carry: Uint8Array<ArrayBuffer> = new Uint8Array();
  let carryOffset = 0;
  for (;;) {
    const chunk = await chunks.next(carry);
    if (chunk === null) break;
    queue.reading = chunk;
    const consumed = splitter.parse(chunk);
    queue.reading = null;
    carry = chunk.bytes.slice(consumed, chunk.length);
    carryOffset = chunk.fileOffset + consumed;
    if (chunk.pending === 0) chunks.recycle(chunk);
    if (splitter.skipAfterChunk > 0) {
      await chunks.skip(splitter.skipAfterChunk);
      splitter.skipAfterChunk = 0;
    }
    await each();
  }
  splitter.finish(carry.length, carryOffset);
  return { cutBytes: carry.length, cutOffset: carryOffset };
}
