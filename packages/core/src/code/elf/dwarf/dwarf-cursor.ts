import { toFloat, toSignedFloat } from '../../../base/index.ts';
import { viewOf } from '../elf-file.ts';

/** Seven bytes of seven bits: one more would not be exact in a float64. */
const MOST_SCALE = 2 ** 49;

/**
 * Reads DWARF's encodings from a section. Beyond `end`, and where a number is larger than any that means
 * something, it reads 0 and says so in `isDamaged`: whoever loops looks at that.
 */
export class DwarfCursor {
  readonly bytes: Uint8Array<ArrayBuffer>;
  at: number;
  end: number;
  isDamaged = false;
  readonly littleEndian: boolean;
  readonly #view: DataView<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>, littleEndian: boolean, at = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.littleEndian = littleEndian;
    this.at = at;
    this.end = end;
    this.#view = viewOf(bytes);
  }

  u8(): number {
    return this.#take(1) ? this.bytes[this.at - 1]! : 0;
  }

  i8(): number {
    return (this.u8() << 24) >> 24;
  }

  u16(): number {
    return this.#take(2) ? this.#view.getUint16(this.at - 2, this.littleEndian) : 0;
  }

  u24(): number {
    const first = this.u8();
    const middle = this.u8();
    const last = this.u8();
    return this.littleEndian ? first | (middle << 8) | (last << 16) : (first << 16) | (middle << 8) | last;
  }

  u32(): number {
    return this.#take(4) ? this.#view.getUint32(this.at - 4, this.littleEndian) : 0;
  }

  /** Rounded above 2^53: then it is no offset. */
  u64(): number {
    return this.#long(toFloat);
  }

  /** Signed, so that kernel addresses are exact. */
  i64(): number {
    return this.#long(toSignedFloat);
  }

  /** An offset into a section: its size is the unit's format. */
  offset(is64: boolean): number {
    return is64 ? this.u64() : this.u32();
  }

  uleb(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    if (!Number.isSafeInteger(value)) this.isDamaged = true;
    return this.isDamaged ? 0 : value;
  }

  sleb(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte >= 0x80) continue;
      if ((byte & 0x40) !== 0) value -= scale;
      break;
    }
    // Padded so far that its sign cannot be taken off exactly: no compiler does.
    if (!Number.isSafeInteger(value) || scale > MOST_SCALE) this.isDamaged = true;
    return this.isDamaged ? 0 : value;
  }

  /** Goes behind a number of either kind, however large: constants of a program may have all 64 bits. */
  skipLeb(): void {
    while (this.u8() >= 0x80);
  }

  /** Where a NUL-terminated string begins; goes behind it. */
  skipString(): number {
    const from = this.at;
    const nul = this.bytes.indexOf(0, from);
    if (nul < 0 || nul >= this.end) {
      this.isDamaged = true;
      this.at = this.end;
    } else this.at = nul + 1;
    return from;
  }

  skip(count: number): void {
    this.#take(count);
  }

  #long(join: (lo: number, hi: number) => number): number {
    if (!this.#take(8)) return 0;
    const first = this.#view.getUint32(this.at - 8, this.littleEndian);
    const second = this.#view.getUint32(this.at - 4, this.littleEndian);
    return this.littleEndian ? join(first, second) : join(second, first);
  }

  #take(count: number): boolean {
    if (count > this.end - this.at) {
      this.isDamaged = true;
      this.at = this.end;
      return false;
    }
    this.at += count;
    return true;
  }
}
