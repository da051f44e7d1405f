import {
  BPF_RINGBUF_BUSY_BIT,
  BPF_RINGBUF_DISCARD_BIT,
  BPF_RINGBUF_HEADER_SIZE,
} from '@counterpoint/core/abi';
import { FormatError } from '@counterpoint/core/base';

/** What programs and their reader share. Tests and benchmarks give plain memory. */
export interface BpfRingMemory {
  /** The data twice in a row, so that no record wraps. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** Of the data once: a power of two. */
  readonly sizeBytes: number;
  /** Positions count bytes since the ring began: they only grow, exact in a float64 for 9 petabytes. */
  consumed(): number;
  produced(): number;
  /** Give everything before `position` back. */
  consume(position: number): void;
}

/** Given back during a long reading after so much, so that programs find room again. */
const COMMIT_SHARE = 4;

/**
 * Reads a BPF ring buffer in place.
 *
 *   [ len | pgoff | payload ... ][ len+DISCARD | pgoff | ... ][ len+BUSY | pgoff | ... ]
 *     a record: given              skipped, counted             not finished: reading ends here
 *
 *     while (reader.next()) column.push(reader.words[reader.word]!);
 *     reader.commit();
 *
 * A record is *borrowed* until `commit`, or until `next` has gone through a quarter of the ring after it.
 */
export class BpfRingReader {
  /** The memory of all records, for reading at `word`. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** Where the payload of this record begins in `words`; it is 8-aligned. */
  word = 0;
  /** Size of this record's payload. */
  sizeBytes = 0;
  /** Records that were given, and those that a program took back. */
  records = 0;
  discarded = 0;
  readonly #memory: BpfRingMemory;
  readonly #mask: number;
  readonly #commitBytes: number;
  /** [#position, #limit) is what is there to be read; #given was given back. */
  #position: number;
  #limit: number;
  #given: number;

  constructor(memory: BpfRingMemory) {
    this.#memory = memory;
    this.words = memory.words;
    this.#mask = memory.sizeBytes - 1;
    this.#commitBytes = memory.sizeBytes / COMMIT_SHARE;
    this.#position = memory.consumed();
    this.#limit = this.#position;
    this.#given = this.#position;
  }

  /** Bytes that were read so far, headers included. */
  get positionBytes(): number {
    return this.#position;
  }

  /** Go to the next record. False: there is none that is finished. */
  next(): boolean {
    for (;;) {
      if (this.#position >= this.#limit && !this.#look()) return false;
      // `&` keeps the low 32 bits, so growing positions are fine: a ring is at most 2 GiB.
      const at = (this.#position & this.#mask) >>> 2;
      // A load that the compiler keeps and orders: the kernel clears the busy bit after it has written the payload.
      const header = Atomics.load(this.words, at);
      if (header >= BPF_RINGBUF_BUSY_BIT) return false;
      const sizeBytes = header & ~BPF_RINGBUF_DISCARD_BIT;
      const total = (sizeBytes + BPF_RINGBUF_HEADER_SIZE + 7) & ~7;
      if (total > this.#limit - this.#position) this.#refuse(sizeBytes);
      this.#position += total;
      if (header >= BPF_RINGBUF_DISCARD_BIT) {
        this.discarded++;
        continue;
      }
      this.word = at + 2;
      this.sizeBytes = sizeBytes;
      this.records++;
      return true;
    }
  }

  /** The payload of this record, without a copy; borrowed like it. */
  payload(): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset } = this.words;
    return new Uint8Array(buffer, byteOffset + this.word * 4, this.sizeBytes);
  }

  /** Give everything that was read back to the programs. Records must not be read after this. */
  commit(): void {
    if (this.#given === this.#position) return;
    this.#given = this.#position;
    this.#memory.consume(this.#position);
  }

  /** See how far programs have come. */
  #look(): boolean {
    if (this.#position - this.#given >= this.#commitBytes) this.commit();
    const produced = this.#memory.produced();
    const size = produced - this.#position;
    if (size < 0 || size > this.#memory.sizeBytes) {
      throw new FormatError(
        'ERR_BPF_RING',
        this.#position,
        `at most ${this.#memory.sizeBytes} bytes beyond it`,
        `a producer at ${produced}`,
      );
    }
    this.#limit = produced;
    return size > 0;
  }

  #refuse(sizeBytes: number): never {
    throw new FormatError(
      'ERR_BPF_RING',
      this.#position,
      `a record within ${this.#limit - this.#position} bytes`,
      `one of ${sizeBytes}`,
    );
  }
}
