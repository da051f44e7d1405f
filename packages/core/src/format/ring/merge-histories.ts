import type { HistoryMemory, HistoryRecords } from './history-ring.ts';

/** A ring whose kernel side stands still, and what is in it. */
export interface StoppedHistory {
  /** The ring's memory, in which nothing is written any more. */
  memory: HistoryMemory;
  /** Where its records stand. */
  records: HistoryRecords;
}

/** The records of several rings as one sequence. */
export interface MergedHistory {
  /** Whole records in order of time. */
  bytes: Uint8Array<ArrayBuffer>;
  /** How many records there are. */
  records: number;
  /** Nanoseconds; null where nothing is in it. */
  firstNs: number | null;
  /** Time of the last record; null where nothing is in it. */
  lastNs: number | null;
}

/** Longer records are copied by the engine's own copy, which costs 50 ns to begin. */
const SHORT_RECORD_BYTES = 1024;
const NEVER = Number.POSITIVE_INFINITY;

/** One ring, read from its oldest record on. */
class Lane {
  readonly data: Uint8Array<ArrayBuffer>;
  readonly words: BigUint64Array<ArrayBuffer>;
  readonly sizes: Uint16Array<ArrayBuffer>;
  readonly offsets: Uint32Array;
  readonly times: Float64Array;
  /** Records that are left: the next one is the last of these. */
  left: number;
  nextNs = NEVER;

  constructor({ memory: { data }, records }: StoppedHistory) {
    this.data = data;
    this.words = new BigUint64Array(data.buffer, data.byteOffset, data.length >>> 3);
    this.sizes = new Uint16Array(data.buffer, data.byteOffset, data.length >>> 1);
    this.offsets = records.offsets;
    this.times = records.times;
    this.left = records.count;
    if (this.left > 0) this.nextNs = this.times[this.left - 1]!;
  }
}

/**
 * Several histories as one piece of records in order of time. `scratch` is used for them where it is large
 * enough: new memory costs as much as the copying.
 */
export function mergeHistories(
  histories: readonly StoppedHistory[],
  scratch: Uint8Array<ArrayBuffer> = new Uint8Array(0),
): MergedHistory {
  const lanes = histories.map((history) => new Lane(history));
  const sizeBytes = histories.reduce((sum, { records }) => sum + records.sizeBytes, 0);
  const output = scratch.length >= sizeBytes ? scratch.subarray(0, sizeBytes) : new Uint8Array(sizeBytes);
  const outputWords = new BigUint64Array(output.buffer, output.byteOffset, sizeBytes >>> 3);
  let written = 0;
  let firstNs: number | null = null;
  let lastNs: number | null = null;
  for (;;) {
    let first: Lane | null = null;
    let untilNs = NEVER;
    // Rings are as few as CPUs.
    for (const lane of lanes) {
      if (lane.nextNs < (first?.nextNs ?? NEVER)) {
        untilNs = first?.nextNs ?? NEVER;
        first = lane;
      } else if (lane.nextNs < untilNs) untilNs = lane.nextNs;
    }
    if (first === null) break;
    firstNs ??= first.nextNs;
    written = copyUntil(first, untilNs, output, outputWords, written);
    lastNs = first.times[first.left]!;
  }
  const records = histories.reduce((sum, one) => sum + one.records.count, 0);
  return { bytes: output, records, firstNs, lastNs };
}

/**
 * Copy the next record, and those after it that are not later than `untilNs`. Returns where the output ends.
 */
function copyUntil(
  lane: Lane,
  untilNs: number,
  output: Uint8Array<ArrayBuffer>,
  outputWords: BigUint64Array<ArrayBuffer>,
  written: number,
): number {
  const { data, words, sizes, offsets, times } = lane;
  const mask = words.length - 1;
  let left = lane.left;
  do {
    const offset = offsets[--left]!;
    const size = sizes[(offset >>> 1) + 3]!;
    if (size <= SHORT_RECORD_BYTES) {
      const from = offset >>> 3;
      const to = written >>> 3;
      const count = size >>> 3;
      for (let word = 0; word < count; word++) outputWords[to + word] = words[(from + word) & mask]!;
    } else {
      const toEnd = Math.min(size, data.length - offset);
      output.set(data.subarray(offset, offset + toEnd), written);
      if (size > toEnd) output.set(data.subarray(0, size - toEnd), written + toEnd);
    }
    written += size;
  } while (left > 0 && times[left - 1]! <= untilNs);
  lane.left = left;
  lane.nextNs = left > 0 ? times[left - 1]! : NEVER;
  return written;
}
