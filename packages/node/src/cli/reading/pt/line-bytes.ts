/** Enough that writing costs little, and little enough to stay in a cache. */
const FULL_BYTES = 1 << 16;
const SPACE = 0x20;
const ZERO = 0x30;
const NEW_LINE = 0x0a;
const POINT = 0x2e;
const MOST_SMALL = 2 ** 31 - 1;
const MILLION = 1_000_000;

const encoder = new TextEncoder();

/** Text that is written again and again, as bytes. */
export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * Lines of columns, put together as bytes: where there are hundreds of thousands of them, strings cost more
 * than what they say. Columns are aligned to the right; what is wider than its column is whole.
 */
export class LineBytes {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #isEachLineWritten: boolean;
  #bytes = new Uint8Array(2 * FULL_BYTES);
  #length = 0;

  /** `isEachLineWritten`: somebody reads along. */
  constructor(write: (bytes: Uint8Array) => void, isEachLineWritten: boolean) {
    this.#write = write;
    this.#isEachLineWritten = isEachLineWritten;
  }

  spaces(count: number): void {
    this.#reserve(count);
    this.#bytes.fill(SPACE, this.#length, this.#length + count);
    this.#length += count;
  }

  /** ASCII. */
  text(text: string, width: number): void {
    const { length } = text;
    this.spaces(Math.max(0, width - length));
    this.#reserve(length);
    for (let index = 0; index < length; index++) this.#bytes[this.#length + index] = text.charCodeAt(index);
    this.#length += length;
  }

  /** A whole number from 0 on. */
  number(value: number, width: number): void {
    if (value >= 10 ** width) {
      this.text(String(value), width);
      return;
    }
    this.#reserve(width);
    this.#fillTo(this.#digits(value, this.#length + width), this.#length + width);
  }

  /** A number of thousandths, with three digits after the point. */
  thousandths(value: number, width: number): void {
    const whole = Math.floor(value / 1000);
    const rest = value - whole * 1000;
    if (whole >= 10 ** (width - 4)) {
      this.text(`${whole}.${String(rest).padStart(3, '0')}`, width);
      return;
    }
    this.#reserve(width);
    const end = this.#length + width;
    this.#bytes[end - 1] = ZERO + (rest % 10);
    this.#bytes[end - 2] = ZERO + (((rest / 10) | 0) % 10);
    this.#bytes[end - 3] = ZERO + ((rest / 100) | 0);
    this.#bytes[end - 4] = POINT;
    this.#fillTo(this.#digits(whole, end - 4), end);
  }

  bytes(piece: Uint8Array): void {
    this.#reserve(piece.length);
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  endLine(): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = NEW_LINE;
    if (this.#isEachLineWritten || this.#length >= FULL_BYTES) this.flush();
  }

  flush(): void {
    if (this.#length > 0) this.#write(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
  }

  /** Digits that end before `end`; where they begin. */
  #digits(value: number, end: number): number {
    let at = end;
    let rest = value;
    // Above this V8 divides fractions.
    while (rest > MOST_SMALL) {
      const high = Math.floor(rest / MILLION);
      let low = rest - high * MILLION;
      for (let digit = 0; digit < 6; digit++) {
        this.#bytes[--at] = ZERO + (low % 10);
        low = (low / 10) | 0;
      }
      rest = high;
    }
    let small = rest | 0;
    do {
      const tenth = (small / 10) | 0;
      this.#bytes[--at] = ZERO + small - tenth * 10;
      small = tenth;
    } while (small !== 0);
    return at;
  }

  /** A column ends at `end`, and what it says begins at `from`. */
  #fillTo(from: number, end: number): void {
    for (let at = this.#length; at < from; at++) this.#bytes[at] = SPACE;
    this.#length = end;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#length + size, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
