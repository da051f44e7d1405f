import {
  BPF_RINGBUF_BUSY_BIT,
  BPF_RINGBUF_DISCARD_BIT,
  BPF_RINGBUF_HEADER_SIZE,
} from '@counterpoint/core/abi';
import { checkArgument, FormatError } from '@counterpoint/core/base';

/** What programs and their reader share. Tests and benchmarks give plain memory. */
export interface BpfRingMemory {
  /** The data twice in a row, so that no record wraps. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** Of the data once: a power of two. */
  readonly sizeBytes: number;
  /** Positions count bytes since the ring began: they only grow, exact in a float64 for 9 petabytes. */
  consumed(): number;
  /** How many bytes the kernel has written since the ring was made. */
  produced(): number;
  /** Give everything before `position` back. */
  consume(position: number): void;
}

/**
 * The kernel clears the busy bit after it has written the payload, so a header must be loaded before
 * the payload is. x86 keeps loads in their order; elsewhere it takes an atomic load, which costs as
 * much as all the rest of `next`.
 */
const KEEPS_LOADS_IN_ORDER = process.arch === 'x64';

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
  /** How many records their writers have discarded (BPF_RINGBUF_DISCARD_BIT). */
  discarded = 0;
  readonly #memory: BpfRingMemory;
  readonly #commitBytes: number;
  /**
   * What is there to be read, as offsets in the doubled data: small numbers, which loops
   * handle faster than positions.
   *
   *   position of the first byte = #base + #offset
   *
   *   | 0 ...  #offset | ... to be read ... | #end ... 2 * sizeBytes |
   */
  #offset = 0;
  #end = 0;
  #base: number;
  /** Everything before this position was given back. */
  #given: number;

  /** Begins at what was not read yet. */
  constructor(memory: BpfRingMemory) {
    const members = { words: 'object', sizeBytes: 'number', consumed: 'function', consume: 'function' };
    checkArgument(members, 'BpfRingReader', 'the memory', memory, 'the memory of a ring (BpfRingMemory)');
    this.#memory = memory;
    this.words = memory.words;
    this.#commitBytes = memory.sizeBytes / COMMIT_SHARE;
    this.#base = memory.consumed();
    this.#given = this.#base;
  }

  /** Bytes that were read since the ring began, headers included. */
  get positionBytes(): number {
    return this.#base + this.#offset;
  }

  /** Go to the next record. False: there is none that is finished. */
  next(): boolean {
    let offset = this.#offset;
    for (;;) {
      if (offset >= this.#end) {
        if (!this.#look()) return false;
        offset = this.#offset;
      }
      const header = KEEPS_LOADS_IN_ORDER
        ? this.words[offset >>> 2]!
        : Atomics.load(this.words, offset >>> 2);
      // One comparison for the two flags, which are rare.
      if (header < BPF_RINGBUF_DISCARD_BIT) {
        const next = offset + ((header + BPF_RINGBUF_HEADER_SIZE + 7) & ~7);
        if (next > this.#end) this.#refuse(header);
        this.#offset = next;
        this.word = (offset >>> 2) + 2;
        this.sizeBytes = header;
        this.records++;
        return true;
      }
      if (header >= BPF_RINGBUF_BUSY_BIT) return false;
      const sizeBytes = header & ~BPF_RINGBUF_DISCARD_BIT;
      offset += (sizeBytes + BPF_RINGBUF_HEADER_SIZE + 7) & ~7;
      if (offset > this.#end) this.#refuse(sizeBytes);
      this.#offset = offset;
      this.discarded++;
    }
  }

  /** The payload of this record, without a copy; borrowed like it. */
  payload(): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset } = this.words;
    return new Uint8Array(buffer, byteOffset + this.word * 4, this.sizeBytes);
  }

  /** Give everything that was read back to the programs. Records must not be read after this. */
  commit(): void {
    const position = this.positionBytes;
    if (this.#given === position) return;
    this.#given = position;
    this.#memory.consume(position);
  }

  /** See how far programs have come. */
  #look(): boolean {
    const position = this.positionBytes;
    if (position - this.#given >= this.#commitBytes) this.commit();
    const { sizeBytes } = this.#memory;
    const produced = this.#memory.produced();
    const size = produced - position;
    if (size < 0 || size > sizeBytes) {
      throw new FormatError(
        'ERR_BPF_RING',
        position,
        `at most ${sizeBytes} bytes beyond it`,
        `a producer at ${produced}`,
      );
    }
    this.#offset = position % sizeBytes;
    this.#base = position - this.#offset;
    this.#end = this.#offset + size;
    return size > 0;
  }

  #refuse(sizeBytes: number): never {
    throw new FormatError(
      'ERR_BPF_RING',
      this.positionBytes,
      `a record within ${this.#end - this.#offset} bytes`,
      `one of ${sizeBytes}`,
    );
  }
}
