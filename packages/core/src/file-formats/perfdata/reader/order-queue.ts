import type { DamageLog } from '../../../base/index.ts';
import { type Chunk, type ChunkPool, fileOffsetOf } from './chunk-source.ts';
import { orderByTime } from './time-order.ts';

const NO_CHUNK: Chunk = {
  view: new DataView(new ArrayBuffer(0)),
  bytes: new Uint8Array(),
  fileOffset: 0,
  isDecompressed: false,
  length: 0,
  holders: 0,
};

/**
 * What a chunk costs besides its bytes: the objects around them. Matters where records come in tiny pieces.
 */
const CHUNK_OVERHEAD = 512;

/** Receives records one by one; `view` and the offsets are borrowed until the call returns. */
export type DeliverRecord = (chunk: Chunk, start: number) => void;

/**
 * Puts records in order of time. Rings are written one after the other, so a file is ordered only within each
 * ring's stretch. A FINISHED_ROUND record says that all rings have been emptied once; whatever is older than
 * the newest record of the round *before* cannot be overtaken any more:
 *
 *   round 1: cpu0 1 4 7 | cpu1 2 3 9 | FINISHED_ROUND    newest so far 9, nothing is safe yet
 *   round 2: cpu0 8 11  | cpu1 10 12 | FINISHED_ROUND    up to 9 is safe: deliver 1 2 3 4 7 8 9
 *
 * Memory is bounded: beyond `limitBytes` (of chunks held) the older half goes out early; what then comes
 * too late is counted. A chunk is held by those who `retain` it (the parser, while it is in it) and by
 * each of its records that waits.
 */
export class OrderQueue {
  #times = new Float64Array(4096);
  #starts = new Int32Array(4096);
  readonly #chunks: Chunk[] = [];
  #spareTimes = new Float64Array(0);
  #spareStarts = new Int32Array(0);
  #count = 0;
  #order = new Int32Array(4096);
  #spare = new Int32Array(4096);
  #newest = -Infinity;
  #safeUpTo = -Infinity;
  #flushedUpTo = -Infinity;
  #delivered = -Infinity;
  /** Memory of the chunks that are held. A small record keeps its whole chunk. */
  #heldBytes = 0;
  readonly #deliver: DeliverRecord;
  readonly #pool: ChunkPool;
  readonly #damage: DamageLog;
  readonly #limitBytes: number;

  constructor(deliver: DeliverRecord, pool: ChunkPool, damage: DamageLog, limitBytes: number) {
    this.#deliver = deliver;
    this.#pool = pool;
    this.#damage = damage;
    this.#limitBytes = limitBytes;
  }

  /** Keeps a chunk's memory from being used again until `release`. */
  retain(chunk: Chunk): void {
    if (chunk.holders++ === 0) this.#heldBytes += memoryOf(chunk);
  }

  release(chunk: Chunk): void {
    if (--chunk.holders > 0) return;
    this.#heldBytes -= memoryOf(chunk);
    this.#pool.recycle(chunk);
  }

  push(timeNs: number, chunk: Chunk, start: number): void {
    if (this.#count === this.#times.length) this.#grow();
    this.#times[this.#count] = timeNs;
    this.#starts[this.#count] = start;
    this.#chunks[this.#count] = chunk;
    this.#count++;
    this.retain(chunk);
    if (timeNs > this.#newest) this.#newest = timeNs;
    if (timeNs < this.#delivered) this.#damage.add('out-of-order', fileOffsetOf(chunk, start));
    if (this.#heldBytes > this.#limitBytes) this.#flushHalf();
  }

  /** A FINISHED_ROUND record was read. */
  finishRound(): void {
    this.finishRoundAt(this.#newest);
  }

  /** A round has ended after which, as far as is known, nothing before `newestNs` comes. */
  finishRoundAt(newestNs: number): void {
    // Most rounds of many files change nothing.
    if (this.#safeUpTo > this.#flushedUpTo) this.#flushUpTo(this.#safeUpTo);
    this.#flushedUpTo = this.#safeUpTo;
    this.#safeUpTo = newestNs;
  }

  /** The end of the data: everything goes out. */
  finish(): void {
    this.#flushUpTo(Infinity);
  }

  #flushHalf(): void {
    const sorted = this.#sort();
    this.#flushSorted(sorted, Math.max(1, this.#count >> 1));
  }

  #flushUpTo(limitNs: number): void {
    if (this.#count === 0) return;
    const sorted = this.#sort();
    let end = this.#count;
    if (limitNs !== Infinity) {
      let low = 0;
      while (low < end) {
        const middle = (low + end) >> 1;
        if (this.#times[sorted[middle]!]! <= limitNs) low = middle + 1;
        else end = middle;
      }
    }
    this.#flushSorted(sorted, end);
  }

  #sort(): Int32Array {
    if (this.#order.length < this.#count) {
      this.#order = new Int32Array(this.#times.length);
      this.#spare = new Int32Array(this.#times.length);
    }
    return orderByTime(this.#times, this.#count, this.#order, this.#spare);
  }

  #flushSorted(sorted: Int32Array, end: number): void {
    for (let i = 0; i < end; i++) {
      const index = sorted[i]!;
      const chunk = this.#chunks[index]!;
      const start = this.#starts[index]!;
      this.#deliver(chunk, start);
      this.release(chunk);
    }
    if (end > 0) this.#delivered = Math.max(this.#delivered, this.#times[sorted[end - 1]!]!);
    this.#keep(sorted, end);
  }

  /** What stays moves to the front, already in order. */
  #keep(sorted: Int32Array, end: number): void {
    const left = this.#count - end;
    if (left > 0) {
      if (this.#spareTimes.length < this.#times.length) {
        this.#spareTimes = new Float64Array(this.#times.length);
        this.#spareStarts = new Int32Array(this.#times.length);
      }
      const chunks: Chunk[] = new Array(left);
      for (let i = 0; i < left; i++) {
        const index = sorted[end + i]!;
        this.#spareTimes[i] = this.#times[index]!;
        this.#spareStarts[i] = this.#starts[index]!;
        chunks[i] = this.#chunks[index]!;
      }
      [this.#times, this.#spareTimes] = [this.#spareTimes, this.#times];
      [this.#starts, this.#spareStarts] = [this.#spareStarts, this.#starts];
      for (let i = 0; i < left; i++) this.#chunks[i] = chunks[i]!;
    }
    // Forget the rest without giving up the array's room, and without a walk over room that nothing used.
    this.#chunks.fill(NO_CHUNK, left, this.#count);
    this.#count = left;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    times.set(this.#times);
    this.#times = times;
    const starts = new Int32Array(this.#starts.length * 2);
    starts.set(this.#starts);
    this.#starts = starts;
  }
}

function memoryOf(chunk: Chunk): number {
  return chunk.bytes.buffer.byteLength + CHUNK_OVERHEAD;
}
