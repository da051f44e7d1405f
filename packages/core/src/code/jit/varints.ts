import { decodeUtf8, FormatError } from '../../base/index.ts';

const CONTINUES = 0x80;
const LOW_BITS = 0x7f;
/** Of a number below 2^53. */
const MOST_VARINT_BYTES = 8;

/** Unsigned numbers below 2^53 as LEB128 (DWARF 5, section 7.6), and texts. */
export class VarintWriter {
  #bytes = new Uint8Array(1 << 12);
  #length = 0;

  add(...values: number[]): void {
    for (let value of values) {
      this.#reserve(MOST_VARINT_BYTES);
      while (value > LOW_BITS) {
        this.#bytes[this.#length++] = (value % CONTINUES) | CONTINUES;
        value = Math.floor(value / CONTINUES);
      }
      this.#bytes[this.#length++] = value;
    }
  }

  addText(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.add(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  /** What was written until now; valid until more is. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const bigger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + bytes));
    bigger.set(this.#bytes);
    this.#bytes = bigger;
  }
}

export function joinVarints(parts: readonly VarintWriter[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const { bytes } of parts) {
    all.set(bytes, at);
    at += bytes.length;
  }
  return all;
}

/** Reads what VarintWriter wrote, from bytes that nobody vouches for. Throws FormatError. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  /** `at`: where to begin. */
  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Of the byte that is read next. */
  get at(): number {
    return this.#at;
  }

  read(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < MOST_VARINT_BYTES; count++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & LOW_BITS) * scale;
      if (byte < CONTINUES) {
        if (Number.isSafeInteger(value)) return value;
        break;
      }
      scale *= CONTINUES;
    }
    throw new FormatError('ERR_INLINED_CODE', this.#at, 'a number below 2^53', 'none');
  }

  /** A row of a table. */
  below(limit: number): number {
    const value = this.read();
    if (value < limit) return value;
    throw new FormatError('ERR_INLINED_CODE', this.#at, `a row below ${limit}`, `${value}`);
  }

  /** Of things that take so many bytes each, or more. */
  count(most = Number.POSITIVE_INFINITY, bytesEach = 1): number {
    const value = this.read();
    if (value <= Math.min(most, (this.#bytes.length - this.#at) / bytesEach)) return value;
    throw new FormatError('ERR_INLINED_CODE', this.#at, 'as many rows as its bytes can have', `${value}`);
  }

  text(): string {
    return decodeUtf8(this.textBytes());
  }

  /** A text as it stands in the bytes, which are not copied. */
  textBytes(): Uint8Array {
    const length = this.count();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
