import { TWO_32 } from '../../base/index.ts';

/** The most that the kernel copies: 16 bits of bytes, in words (`sample_stack_user`). */
const LARGEST_COPY_BYTES = 65528;

/**
 * The copy of a thread's stack that a sample carries:
 *
 *   address   sp                 sp + size
 *             [ innermost frame ... as far as the copy goes )
 *
 * *Borrowed*: it points into the record.
 */
export class StackMemory {
  start = 0;
  size = 0;
  /**
   * An address behind the copy was wanted, that a larger copy would have had. What lies further off is
   * another stack, as a rule: that of who was interrupted by a handler with a stack of its own.
   */
  wasBeyond = false;
  #view!: DataView;
  #offset = 0;
  #littleEndian = true;
  #lo = 0;

  set(view: DataView, offset: number, size: number, start: number, littleEndian: boolean): void {
    this.#view = view;
    this.#offset = offset;
    this.size = size;
    this.start = start;
    this.wasBeyond = false;
    this.#littleEndian = littleEndian;
    this.#lo = littleEndian ? 0 : 4;
  }

  /** Whether the copy has all of these bytes. */
  holds(address: number, bytes: number): boolean {
    const at = address - this.start;
    return at >= 0 && at + bytes <= this.size;
  }

  /**
   * A word of memory; NaN where the copy does not have it. Above 2^53 it is rounded: then it is no address.
   */
  word(address: number, pointerBytes: number): number {
    const at = address - this.start;
    if (!(at >= 0 && at + pointerBytes <= this.size)) {
      this.#missed(at + pointerBytes);
      return Number.NaN;
    }
    const place = this.#offset + at;
    if (pointerBytes === 4) return this.#view.getUint32(place, this.#littleEndian);
    const lo = this.#view.getUint32(place + this.#lo, this.#littleEndian);
    return this.#view.getUint32(place + 4 - this.#lo, this.#littleEndian) * TWO_32 + lo;
  }

  /** As many bytes of memory as one number; null where the copy does not have them. Exact. */
  bits(address: number, bytes: number): bigint | null {
    const at = address - this.start;
    if (!(at >= 0 && at + bytes <= this.size)) {
      this.#missed(at + bytes);
      return null;
    }
    let value = 0n;
    for (let index = 0; index < bytes; index++) {
      const place = this.#littleEndian ? bytes - 1 - index : index;
      value = (value << 8n) | BigInt(this.#view.getUint8(this.#offset + at + place));
    }
    return value;
  }

  #missed(end: number): void {
    if (end > this.size && end <= LARGEST_COPY_BYTES) this.wasBeyond = true;
  }
}
