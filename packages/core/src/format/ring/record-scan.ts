import { compareU64, toBigInt } from '../../base/index.ts';
import { PERF_RECORD_SAMPLE, RECORD_HEADER_SIZE } from '../abi/index.ts';

/** The oldest and the newest of some times, as 64-bit halves. */
export class TimeRange {
  #firstLo = 0xffff_ffff;
  #firstHi = 0xffff_ffff;
  #lastLo = 0;
  #lastHi = 0;

  /** Extends the range to a time, given as its lower and upper 32 bits. */
  add(lo: number, hi: number): void {
    if (compareU64(lo, hi, this.#firstLo, this.#firstHi) < 0) {
      this.#firstLo = lo;
      this.#firstHi = hi;
    }
    if (compareU64(lo, hi, this.#lastLo, this.#lastHi) > 0) {
      this.#lastLo = lo;
      this.#lastHi = hi;
    }
  }

  /** Null where no time was added. */
  get(): { first: bigint; last: bigint } | null {
    if (compareU64(this.#firstLo, this.#firstHi, this.#lastLo, this.#lastHi) > 0) return null;
    return { first: toBigInt(this.#firstLo, this.#firstHi), last: toBigInt(this.#lastLo, this.#lastHi) };
  }
}

/** Types below this are counted one by one; newer ones together in the last place. */
const TYPE_PLACES = 256;

/** Samples whose call chain is long. */
export interface LongChains {
  /** Where the count stands in each sample: `SampleLayout.chainFromStart`. */
  chainFromStart: number;
  /** This many words or more. */
  words: number;
}

/**
 * Called for a record of a type that was asked for. `view` holds the whole record at `offset`; *borrowed*.
 */
export type RecordVisitor = (type: number, view: DataView<ArrayBuffer>, offset: number, size: number) => void;

/**
 * Walks the headers of records in a ring, for counts and for the few types whose contents matter while
 * recording. It touches 8 bytes per record, so it costs nanoseconds where the recording costs microseconds.
 */
export class RecordScan {
  /** How many records of each type there were, by its number; higher types count under the last one. */
  readonly counts = new Float64Array(TYPE_PLACES);
  /** Bytes of records that were looked at. */
  bytes = 0;
  /** Times of the oldest and the newest sample, where samples have a time. */
  readonly sampleTimes = new TimeRange();
  /** Bytes after a header that cannot be right: the rest of that batch was not looked at. */
  damagedBytes = 0;
  readonly #isVisited = new Uint8Array(TYPE_PLACES);
  readonly #visit: RecordVisitor;
  /** Where the time stands in a sample, in words of 4 bytes, or -1. */
  readonly #timeWord: number;
  /**
   * Where the count of a call chain's words stands in a sample, in words of 4 bytes, or -1;
   * samples with as many are visited.
   */
  readonly #chainWord: number;
  readonly #chainLimit: number;
  /** For records that wrap. Grows to the largest record seen: at most 64 KiB. */
  #scratch = new DataView(new ArrayBuffer(0));

  /**
   * `timeFromStart` is that of the events' `SampleLayout`: the same for all of them, or -1. `longChains`:
   * visit samples whose call chain has that many words or more, too.
   */
  constructor(
    visitedTypes: readonly number[],
    visit: RecordVisitor,
    timeFromStart = -1,
    longChains: LongChains | null = null,
  ) {
    this.#chainWord = longChains === null ? -1 : longChains.chainFromStart >> 2;
    this.#chainLimit = longChains?.words ?? 0;
    this.#timeWord = timeFromStart < 0 ? -1 : timeFromStart >> 2;
    for (const type of visitedTypes) this.#isVisited[type] = 1;
    this.#visit = visit;
  }

  /** How many of the records were samples. */
  get samples(): number {
    return this.counts[PERF_RECORD_SAMPLE]!;
  }

  /** How many records were looked at. */
  get records(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }

  /** Scan the records at positions [from, to) of a ring whose data pages are `data`. */
  scan(data: Uint8Array<ArrayBuffer>, from: number, to: number): void {
    this.bytes += to - from;
    // The kernel writes in this machine's byte order, and records are aligned: words are read as they stand.
    const words = new Uint32Array(data.buffer, data.byteOffset, data.length >>> 2);
    const mask = data.length - 1;
    let offset = from % data.length;
    let left = to - from;
    let firstSample = -1;
    let lastSample = -1;
    while (left > 0) {
      const word = offset >>> 2;
      const size = words[word + 1]! >>> 16;
      if (size < RECORD_HEADER_SIZE || size > left) {
        this.damagedBytes += left;
        break;
      }
      const type = Math.min(words[word]!, TYPE_PLACES - 1);
      this.counts[type]!++;
      if (type === PERF_RECORD_SAMPLE) {
        if (firstSample < 0) firstSample = word;
        lastSample = word;
        const chainWord = this.#chainWord;
        if (chainWord >= 0 && words[(word + chainWord) & (words.length - 1)]! >= this.#chainLimit)
          this.#visitRecord(data, type, offset, size);
      }
      if (this.#isVisited[type] === 1) this.#visitRecord(data, type, offset, size);
      offset = (offset + size) & mask;
      left -= size;
    }
    // A ring belongs to one CPU, so its first sample is its oldest.
    if (firstSample >= 0 && this.#timeWord >= 0) {
      this.#addTime(words, firstSample);
      this.#addTime(words, lastSample);
    }
  }

  /**
   * Scan records that stand one after the other in the first `size` bytes of a piece, of any rings and with
   * other records between them. Returns where the last whole one ends: what is behind it belongs to the next
   * piece, or is damage where that is 0.
   */
  scanPiece(piece: Uint8Array<ArrayBuffer>, size: number): number {
    const words = new Uint32Array(piece.buffer, piece.byteOffset, piece.length >>> 2);
    const view = new DataView(piece.buffer, piece.byteOffset, piece.length);
    let offset = 0;
    while (offset + RECORD_HEADER_SIZE <= size) {
      const word = offset >>> 2;
      const recordSize = words[word + 1]! >>> 16;
      if (recordSize < RECORD_HEADER_SIZE || offset + recordSize > size) break;
      const type = Math.min(words[word]!, TYPE_PLACES - 1);
      this.counts[type]!++;
      if (type === PERF_RECORD_SAMPLE) {
        // Pieces mix rings, so any sample may be the oldest or the newest.
        if (this.#timeWord >= 0) this.#addTime(words, word);
        const chainWord = this.#chainWord;
        if (chainWord >= 0 && words[(word + chainWord) & (words.length - 1)]! >= this.#chainLimit)
          this.#visit(type, view, offset, recordSize);
      }
      if (this.#isVisited[type] === 1) this.#visit(type, view, offset, recordSize);
      offset += recordSize;
    }
    this.bytes += offset;
    return offset;
  }

  #addTime(words: Uint32Array, sample: number): void {
    const mask = words.length - 1;
    const at = sample + this.#timeWord;
    this.sampleTimes.add(words[at & mask]!, words[(at + 1) & mask]!);
  }

  #visitRecord(data: Uint8Array<ArrayBuffer>, type: number, offset: number, size: number): void {
    const toEnd = data.length - offset;
    if (size <= toEnd) {
      this.#visit(type, new DataView(data.buffer, data.byteOffset, data.length), offset, size);
      return;
    }
    if (this.#scratch.byteLength < size) this.#scratch = new DataView(new ArrayBuffer(size));
    const joined = new Uint8Array(this.#scratch.buffer);
    joined.set(data.subarray(offset), 0);
    joined.set(data.subarray(0, size - toEnd), toEnd);
    this.#visit(type, this.#scratch, 0, size);
  }
}
