import {
  MMAP_PAGE_DATA_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
  PERF_RECORD_SAMPLE,
  RECORD_HEADER_SIZE,
} from '../abi/index.ts';

/**
 * The memory of a ring that the kernel fills backward and overwrites. A test implements it with plain memory.
 */
export interface HistoryMemory {
  /** The data pages. Their size is a power of two. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** Bytes that the kernel has written since the ring was made, overwritten ones among them. */
  writtenBytes(): number;
}

/** Where records have their time. */
export interface RecordTimes {
  /** In each sample: `SampleLayout.timeFromStart`. */
  sampleTimeFromStart: number;
  /** Before the end of any other record, which ends at `end` in `view`; -1: it has none. */
  timeFromEnd(view: DataView<ArrayBuffer>, end: number): number;
}

/** Whole records of a ring, the newest first. */
export interface HistoryRecords {
  /** How many records there are. */
  count: number;
  /** How many bytes they take, all together. */
  sizeBytes: number;
  /** Offset of each in the data pages. */
  offsets: Uint32Array;
  /**
   * Time of each in nanoseconds, never later than that of a newer one. As float64: exact for 104 days of
   * uptime, and then to 2 nanoseconds.
   */
  times: Float64Array;
  /** A record before `fromNs` is there: none of those that are wanted has been overwritten. */
  reachesBack: boolean;
}

const FIRST_PLACES = 4096;
const HIGH_WORD = 2 ** 32;

/**
 * A mapping of an event with `write_backward` that was made without the right to write: the kernel then
 * never waits for a reader, and its head falls from 0 (perf_event_open(2), "MMAP layout").
 */
export function mappedHistory(mapping: ArrayBuffer, pageSizeBytes: number): HistoryMemory {
  const page = new DataView(mapping);
  const offset = Number(page.getBigUint64(MMAP_PAGE_DATA_OFFSET, true)) || pageSizeBytes;
  const size = Number(page.getBigUint64(MMAP_PAGE_DATA_SIZE, true)) || mapping.byteLength - offset;
  const head = new BigUint64Array(mapping, MMAP_PAGE_DATA_HEAD, 1);
  return {
    data: new Uint8Array(mapping, offset, size),
    writtenBytes: () => Number(BigInt.asUintN(64, -Atomics.load(head, 0))),
  };
}

/**
 * The reading side of a ring that overwrites its oldest records. The kernel puts each record before the
 * last one, so the newest begins at the head, and the others follow it around the end:
 *
 *   0                 head                         size
 *   [ . E  D  C  B  A₂ H  G  F . . . . . . . . . . ]        newest to oldest: H G F … E D C B
 *                   └── H was written over the rest of A, which is not whole any more
 */
export class HistoryRing {
  /** The ring's memory. */
  readonly memory: HistoryMemory;

  /** Reads nothing yet. */
  constructor(memory: HistoryMemory) {
    this.memory = memory;
  }

  /** Whether old records have been overwritten. */
  get isFull(): boolean {
    return this.memory.writtenBytes() > this.memory.data.length;
  }

  /**
   * The records that are whole and not older than `fromNs`. Only while the kernel writes nothing: its output
   * is paused (PERF_EVENT_IOC_PAUSE_OUTPUT), or its events are disabled.
   */
  records(recordTimes: RecordTimes, fromNs = 0): HistoryRecords {
    const { data } = this.memory;
    const written = this.memory.writtenBytes();
    const mask = data.length - 1;
    const words = new Uint32Array(data.buffer, data.byteOffset, data.length >>> 2);
    const wordMask = words.length - 1;
    const timeWord = recordTimes.sampleTimeFromStart >>> 2;
    const head = (data.length - (written % data.length)) & mask;
    const end = Math.min(written, data.length);
    let offsets = new Uint32Array(FIRST_PLACES);
    let times = new Float64Array(FIRST_PLACES);
    let count = 0;
    let from = 0;
    let newer = Number.POSITIVE_INFINITY;
    let reachesBack = false;
    while (from + RECORD_HEADER_SIZE <= end) {
      const offset = (head + from) & mask;
      const word = offset >>> 2;
      const size = words[word + 1]! >>> 16;
      // A size that no record has: the rest cannot be told from garbage.
      if (size < RECORD_HEADER_SIZE || (size & 7) !== 0 || from + size > end) break;
      const at =
        words[word] === PERF_RECORD_SAMPLE ? word + timeWord : otherTimeWord(data, offset, size, recordTimes);
      const time = at < 0 ? newer : words[at & wordMask]! + words[(at + 1) & wordMask]! * HIGH_WORD;
      // An interrupt between the clock and the ring turns two records around: the older keeps its place.
      newer = Math.min(newer, time);
      if (newer < fromNs) {
        reachesBack = true;
        break;
      }
      if (count === offsets.length) [offsets, times] = [grown(offsets), grown(times)];
      offsets[count] = offset;
      times[count++] = newer;
      from += size;
    }
    return { count, sizeBytes: from, offsets, times, reachesBack };
  }
}

/**
 * Where the time of a record stands that is no sample, in words of 4 bytes from the beginning; -1: nowhere.
 */
function otherTimeWord(
  data: Uint8Array<ArrayBuffer>,
  offset: number,
  size: number,
  { timeFromEnd }: RecordTimes,
): number {
  const record = new Uint8Array(size);
  for (let at = 0; at < size; at++) record[at] = data[(offset + at) & (data.length - 1)]!;
  const fromEnd = timeFromEnd(new DataView(record.buffer), size);
  return fromEnd < 8 || fromEnd > size - RECORD_HEADER_SIZE ? -1 : (offset + size - fromEnd) >>> 2;
}

function grown<Places extends Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(places: Places): Places {
  const larger = new (places.constructor as new (length: number) => Places)(places.length * 2);
  larger.set(places);
  return larger;
}
