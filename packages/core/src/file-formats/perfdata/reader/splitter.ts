import { type DamageLog, floatAt, TWO_32 } from '../../../base/index.ts';
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_USER_TYPE_START,
  RECORD_HEADER_SIZE,
} from '../../../format/abi/index.ts';
import { MAX_TRACING_DATA_SIZE } from '../tracing-data/index.ts';
import { type Chunk, type ChunkPool, fileOffsetOf } from './chunk-source.ts';
import type { EventTable } from './event-table.ts';
import type { OrderQueue } from './order-queue.ts';
import { RecordInflater } from './record-inflater.ts';
import { findNextRecord } from './resync.ts';
import { isEndMark, type StreamEnd } from './stream-end.ts';
import type { TimeBase } from './time-base.ts';
import type { ZstdFactory } from './zstd.ts';

export interface SplitterHooks {
  /** A record of user space, in file order; `chunk` is borrowed. */
  userRecord(chunk: Chunk, start: number, end: number, type: number): void;
  /** A kernel record without time, delivered at once. */
  untimedRecord(chunk: Chunk, start: number): void;
  /** The metadata that followed a HEADER_TRACING_DATA record. */
  tracingData(bytes: Uint8Array, fileOffset: number): void;
}

/** Bytes that follow a record and belong to it. */
interface Payload {
  /** What is counted where they are not all there. */
  cutCode: string;
  recordOffset: number;
  size: number;
  /** How many are still to come after the chunk. */
  left: number;
}

/** Where the data ended inside a record or its payload: how many bytes of it there are. */
export interface DataEnd {
  cutBytes: number;
  /** Also where nothing of a payload is there. */
  isCut: boolean;
}

const isCompressed = (type: number): boolean =>
  type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2;

/**
 * Cuts chunks into records: hands kernel records to the ordering queue by their time, follows compressed
 * records into their content, steps over AUX data, and finds its way again after damage.
 */
export class Splitter {
  readonly #le: boolean;
  readonly #damage: DamageLog;
  readonly #events: EventTable;
  readonly #queue: OrderQueue;
  readonly #hooks: SplitterHooks;
  readonly #inflater: RecordInflater;
  readonly #base: TimeBase;
  /** The latest time so far, relative to the base. */
  newestNs = -Infinity;
  /** FINISHED_ROUND records say when records can be delivered; else who drives the splitter knows. */
  hasRounds = true;
  /** Everything goes out at once, in file order. */
  isUnordered = false;
  /** Bytes of hardware trace that were stepped over. */
  auxTraceBytes = 0;
  /** What the records end with so far. */
  readonly end: StreamEnd = { lastType: null, hasEmptyRound: false };
  /** What to leave out after the last chunk. */
  payload: Payload | null = null;
  /** There is a compressed record, and no decompressor yet. */
  #waitsForZstd = false;
  #tracing: { bytes: Uint8Array; filled: number; size: number; recordOffset: number } | null = null;

  constructor(
    littleEndian: boolean,
    damage: DamageLog,
    events: EventTable,
    queue: OrderQueue,
    hooks: SplitterHooks,
    base: TimeBase,
    pool: ChunkPool,
    makeZstd: ZstdFactory | null,
  ) {
    this.#le = littleEndian;
    this.#damage = damage;
    this.#events = events;
    this.#queue = queue;
    this.#hooks = hooks;
    this.#base = base;
    this.#inflater = new RecordInflater(littleEndian, damage, pool, makeZstd);
  }

  /**
   * Parse all whole records of a chunk; gives a copy of the rest. The chunk is given back
   * when no record waits in it.
   */
  async parse(chunk: Chunk): Promise<Uint8Array<ArrayBuffer>> {
    this.#queue.retain(chunk);
    try {
      const from = this.#tracing === null ? 0 : this.#collectTracing(chunk, 0);
      let to = this.#parseRecords(chunk, from);
      if (this.#waitsForZstd) {
        this.#waitsForZstd = false;
        await this.#inflater.load();
        to = this.#parseRecords(chunk, to);
      }
      return chunk.bytes.slice(to, chunk.length);
    } finally {
      this.#queue.release(chunk);
    }
  }

  /** What a compressed record held; no compressed record is followed there. */
  #parseInflated(chunk: Chunk): Uint8Array<ArrayBuffer> {
    this.#queue.retain(chunk);
    try {
      return chunk.bytes.slice(this.#parseRecords(chunk, 0), chunk.length);
    } finally {
      this.#queue.release(chunk);
    }
  }

  /**
   * From `from` on; returns where it stopped: before a record that is not whole, or the first compressed one.
   */
  #parseRecords(chunk: Chunk, from: number): number {
    const { view, length, isDecompressed } = chunk;
    const le = this.#le;
    let pos = from;
    while (pos + RECORD_HEADER_SIZE <= length) {
      const size = view.getUint16(pos + 6, le);
      if (size < RECORD_HEADER_SIZE) {
        this.#damage.add('bad-record-size', fileOffsetOf(chunk, pos));
        pos = findNextRecord(view, pos, length, le);
        continue;
      }
      const end = pos + size;
      if (end > length) break;
      const type = view.getUint32(pos, le);
      if (isCompressed(type) && !isDecompressed && !this.#inflater.isReady) {
        this.#waitsForZstd = true;
        break;
      }
      if (type < PERF_RECORD_USER_TYPE_START) this.#kernelRecord(chunk, pos, end, type);
      else {
        const next = this.#userRecord(chunk, pos, end, type);
        if (next !== end) {
          this.end.lastType = type;
          pos = next;
          continue;
        }
      }
      if (!isDecompressed) this.end.lastType = type;
      pos = end;
    }
    return Math.min(pos, length);
  }

  #kernelRecord(chunk: Chunk, start: number, end: number, type: number): void {
    const { view } = chunk;
    const le = this.#le;
    const at = this.#events.timeOffset(view, start, end, type, le);
    if (at >= 0) {
      const lo = view.getUint32(at + (le ? 0 : 4), le);
      const hi = view.getUint32(at + (le ? 4 : 0), le);
      // 0 is what synthesised records carry, all ones what perf takes for "none": both go out at once.
      if ((lo !== 0 || hi !== 0) && (lo & hi) >>> 0 !== 0xffff_ffff) {
        const base = this.#base;
        base.see(lo, hi);
        const timeNs = (hi - base.hi) * TWO_32 + (lo - base.lo);
        if (timeNs > this.newestNs) this.newestNs = timeNs;
        if (!this.isUnordered) {
          this.#queue.push(timeNs, chunk, start);
          return;
        }
      }
    }
    this.#hooks.untimedRecord(chunk, start);
  }

  /** Returns where to go on: the record's end, or further where a payload follows it. */
  #userRecord(chunk: Chunk, start: number, end: number, type: number): number {
    const { view, isDecompressed } = chunk;
    const offset = fileOffsetOf(chunk, start);
    this.#hooks.userRecord(chunk, start, end, type);
    if (type === PERF_RECORD_FINISHED_ROUND) {
      this.end.hasEmptyRound ||= isEndMark(this.end.lastType);
      if (this.hasRounds) this.#queue.finishRound();
    } else if (isCompressed(type)) {
      if (isDecompressed) this.#damage.add('nested-compression', offset);
      else {
        const inner = this.#inflater.inflate(chunk, start, end, type);
        if (inner !== null) this.#inflater.keep(this.#parseInflated(inner));
      }
    } else if (type === PERF_RECORD_AUXTRACE && !isDecompressed) {
      const size = end - start >= 16 ? floatAt(view, start + 8, this.#le) : 0;
      this.auxTraceBytes += size;
      return this.#stepOver(chunk, end, { cutCode: 'aux-data-cut', recordOffset: offset, size, left: 0 });
    } else if (type === PERF_RECORD_HEADER_TRACING_DATA && !isDecompressed) {
      const size = end - start >= 12 ? view.getUint32(start + 8, this.#le) : 0;
      return this.#beginTracing(chunk, start, end, size);
    }
    return end;
  }

  #stepOver(chunk: Chunk, from: number, payload: Payload): number {
    const here = Math.min(payload.size, chunk.length - from);
    if (here < payload.size) this.payload = { ...payload, left: payload.size - here };
    return from + here;
  }

  #beginTracing(chunk: Chunk, start: number, end: number, size: number): number {
    const recordOffset = fileOffsetOf(chunk, start);
    if (size > MAX_TRACING_DATA_SIZE) {
      this.#damage.add('tracing-data-too-large', recordOffset);
      return this.#stepOver(chunk, end, { cutCode: 'tracing-data-cut', recordOffset, size, left: 0 });
    }
    // Padded to 8. Memory grows with what arrives, not with what is claimed.
    this.#tracing = {
      bytes: new Uint8Array(Math.min(size, 1 << 16)),
      filled: 0,
      size: Math.ceil(size / 8) * 8,
      recordOffset,
    };
    return this.#collectTracing(chunk, end);
  }

  #collectTracing(chunk: Chunk, from: number): number {
    const tracing = this.#tracing!;
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
      this.#tracing = null;
      this.#hooks.tracingData(tracing.bytes.subarray(0, tracing.filled), tracing.recordOffset);
    }
    return from + taken;
  }

  /** The data has ended with `left` unparsed bytes at `fileOffset`. */
  finish(left: number, fileOffset: number): DataEnd {
    let cutBytes = left;
    if (left > 0) this.#damage.add('record-cut', fileOffset);
    if (this.#inflater.unparsedBytes > 0) this.#damage.add('record-cut', fileOffset);
    if (this.#tracing !== null) {
      this.#damage.add('tracing-data-cut', this.#tracing.recordOffset);
      cutBytes += this.#tracing.filled;
    }
    if (this.payload !== null) {
      const { cutCode, recordOffset, size, left: missing } = this.payload;
      this.#damage.add(cutCode, recordOffset);
      cutBytes += size - missing;
      if (cutCode === 'aux-data-cut') this.auxTraceBytes -= missing;
    }
    return { cutBytes, isCut: left > 0 || this.#tracing !== null || this.payload !== null };
  }
}
