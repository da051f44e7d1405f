import type { RingMemory } from './ring-memory.ts';

const EMPTY = new Uint8Array(0);

/**
 * The consuming side of a ring that loses new data when it is full: the kernel writes at
 * `head`, this reads at `tail`.
 *
 *   a batch in one piece                    a batch that wraps
 *   [ . . . A B C D . . ]                   [ C D . . . . . A B ]
 *           tail    head                        head        tail
 *   first = A B C D                         first = A B, second = C D
 *
 * Both spans are views of the shared memory: no byte is copied. They are borrowed until `commit`,
 * after which the kernel may overwrite them. Records start on multiples of 8 bytes, so a wrap
 * never divides a record's header.
 */
export class ForwardRing {
  /** The ring's memory. */
  readonly memory: RingMemory;
  /** The batch, or its part before the wrap. */
  first: Uint8Array<ArrayBuffer> = EMPTY;
  /** Empty unless the batch wraps. */
  second: Uint8Array<ArrayBuffer> = EMPTY;
  /** The batch is [tail, head). */
  tail = 0;
  /** Where the kernel will write next. */
  head = 0;
  /** Bytes that could not be told from garbage because the kernel's position made no sense. */
  skippedBytes = 0;

  /** Begins at what the kernel has not been given back. */
  constructor(memory: RingMemory) {
    this.memory = memory;
  }

  /**
   * Take all that the kernel has written since the last commit. Returns its size in
   * bytes, 0 where there is nothing.
   */
  take(): number {
    const { data } = this.memory;
    const head = this.memory.head();
    let size = head - this.tail;
    if (size < 0 || size > data.length) {
      // Not possible with a kernel that obeys the tail. Starting again at its head beats reading garbage.
      this.skippedBytes += Math.abs(size);
      this.tail = head;
      this.memory.setTail(head);
      size = 0;
    }
    this.head = head;
    if (size === 0) {
      this.first = EMPTY;
      this.second = EMPTY;
      return 0;
    }
    const from = this.tail % data.length;
    const toEnd = data.length - from;
    this.first = data.subarray(from, from + Math.min(size, toEnd));
    this.second = size > toEnd ? data.subarray(0, size - toEnd) : EMPTY;
    return size;
  }

  /** Give the batch back to the kernel. The spans must not be read after this. */
  commit(): void {
    this.first = EMPTY;
    this.second = EMPTY;
    if (this.tail === this.head) return;
    this.tail = this.head;
    this.memory.setTail(this.head);
  }
}
