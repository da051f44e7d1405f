import { PERF_RECORD_SAMPLE, RECORD_HEADER_SIZE } from '../abi/index.ts';

/** Types below this are counted one by one; newer ones together in the last place. */
const TYPE_PLACES = 256;

/** Called for a record of a type that was asked for. `view` holds the whole record at `offset`; *borrowed*. */
export type RecordVisitor = (type: number, view: DataView<ArrayBuffer>, offset: number, size: number) => void;

/**
 * Walks the headers of records in a ring, for counts and for the few types whose contents matter while recording. It
 * touches 8 bytes per record, so it costs nanoseconds where the recording costs microseconds.
 */
export class RecordScan {
  /** Records by type. */
  readonly counts = new Float64Array(TYPE_PLACES);
  bytes = 0;
  /** Bytes after a header that cannot be right: the rest of that batch was not looked at. */
  damagedBytes = 0;
  private readonly isVisited = new Uint8Array(TYPE_PLACES);
  private readonly visit: RecordVisitor;
  /** For records that wrap. Grows to the largest record seen: at most 64 KiB. */
  private scratch = new DataView(new ArrayBuffer(0));

  constructor(visitedTypes: readonly number[], visit: RecordVisitor) {
    for (const type of visitedTypes) this.isVisited[type] = 1;
    this.visit = visit;
  }

  get samples(): number {
    return this.counts[PERF_RECORD_SAMPLE]!;
  }

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
    while (left > 0) {
      const word = offset >>> 2;
      const size = words[word + 1]! >>> 16;
      if (size < RECORD_HEADER_SIZE || size > left) {
        this.damagedBytes += left;
        return;
      }
      const type = Math.min(words[word]!, TYPE_PLACES - 1);
      this.counts[type]!++;
      if (this.isVisited[type] === 1) this.visitRecord(data, type, offset, size);
      offset = (offset + size) & mask;
      left -= size;
    }
  }

  private visitRecord(data: Uint8Array<ArrayBuffer>, type: number, offset: number, size: number): void {
    const toEnd = data.length - offset;
    if (size <= toEnd) {
      this.visit(type, new DataView(data.buffer, data.byteOffset, data.length), offset, size);
      return;
    }
    if (this.scratch.byteLength < size) this.scratch = new DataView(new ArrayBuffer(size));
    const joined = new Uint8Array(this.scratch.buffer);
    joined.set(data.subarray(offset), 0);
    joined.set(data.subarray(0, size - toEnd), toEnd);
    this.visit(type, this.scratch, 0, size);
  }
}
