import {
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_USER_TYPE_START,
  PIPE_HEADER_SIZE,
  RECORD_HEADER_SIZE,
} from '@counterpoint/core/abi';
import type { ByteStream } from '@counterpoint/core/base';

/** What a recorder says of itself before anything happens; trace metadata is the largest of it. */
const MOST_PEEKED_BYTES = 64 << 20;

export interface PeekedStream {
  /** The recording has a hardware trace. */
  hasTrace: boolean;
  /** The stream from its beginning. */
  bytes: ByteStream;
}

/**
 * Look into the beginning of a recording that comes through a pipe. What it holds is told before
 * the first record of the kernel, a word on its hardware trace (AUXTRACE_INFO) too; so nothing
 * waits for what happens later.
 */
export async function peekStream(stream: ByteStream): Promise<PeekedStream> {
  const iterator = stream[Symbol.asyncIterator]();
  const taken: Uint8Array<ArrayBufferLike>[] = [];
  const search = new TraceSearch();
  let found: boolean | null = null;
  let bytes = 0;
  while (found === null && bytes < MOST_PEEKED_BYTES) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    taken.push(value);
    bytes += value.length;
    found = search.add(value);
  }
  const rest = async function* () {
    let isWhole = false;
    try {
      yield* taken.splice(0);
      for (;;) {
        const { value, done } = await iterator.next();
        if (done === true) break;
        yield value;
      }
      isWhole = true;
    } finally {
      // As `for await` does when it is left.
      if (!isWhole) await iterator.return?.();
    }
  };
  return { hasTrace: found === true, bytes: rest() };
}

/** Walks the headers of records, whatever pieces they come in. */
class TraceSearch {
  readonly #header = new Uint8Array(PIPE_HEADER_SIZE);
  #filled = 0;
  /** What belongs to the record before, and is stepped over. */
  #toSkip = 0;
  #isLittleEndian: boolean | null = null;

  /** True where there is a trace, false if there is none, null while that is not known. */
  add(piece: Uint8Array<ArrayBufferLike>): boolean | null {
    for (let at = 0; at < piece.length; ) {
      const skipped = Math.min(this.#toSkip, piece.length - at);
      this.#toSkip -= skipped;
      at += skipped;
      // The size of trace metadata follows the header of its record.
      const wanted = this.#isLittleEndian === null ? PIPE_HEADER_SIZE : this.#wantedBytes();
      const part = piece.subarray(at, at + wanted - this.#filled);
      this.#header.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < wanted || (this.#isLittleEndian !== null && wanted < this.#wantedBytes())) continue;
      const found = this.#isLittleEndian === null ? this.#start() : this.#record();
      if (found !== null) return found;
      this.#filled = 0;
    }
    return null;
  }

  #start(): false | null {
    // `PERFILE2` in the order of bytes in which it was written.
    this.#isLittleEndian = this.#header[0] === 'P'.charCodeAt(0);
    return null;
  }

  get #view(): DataView {
    return new DataView(this.#header.buffer);
  }

  #wantedBytes(): number {
    if (this.#filled < RECORD_HEADER_SIZE) return RECORD_HEADER_SIZE;
    const type = this.#view.getUint32(0, this.#isLittleEndian!);
    return type === PERF_RECORD_HEADER_TRACING_DATA ? RECORD_HEADER_SIZE + 4 : RECORD_HEADER_SIZE;
  }

  #record(): boolean | null {
    const le = this.#isLittleEndian!;
    const type = this.#view.getUint32(0, le);
    const size = this.#view.getUint16(6, le);
    if (type === PERF_RECORD_AUXTRACE_INFO) return true;
    if (type < PERF_RECORD_USER_TYPE_START || size < this.#filled) return false;
    this.#toSkip = size - this.#filled;
    if (type === PERF_RECORD_HEADER_TRACING_DATA)
      this.#toSkip += Math.ceil(this.#view.getUint32(RECORD_HEADER_SIZE, le) / 8) * 8;
    return null;
  }
}
