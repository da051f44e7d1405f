import { encodeUtf8, hiOf, loOf, textUpToNul } from '../../base/index.ts';
import { RECORD_HEADER_SIZE } from '../abi/index.ts';
import { paddedTextSize } from './text-area.ts';

/** Writes the fields of records in order into a growing buffer. Mirrors `BodyReader`. */
export class BodyWriter {
  #view: DataView<ArrayBuffer>;
  #array: Uint8Array<ArrayBuffer>;
  #recordStart = 0;
  /** Bytes written so far. */
  length = 0;
  /** Byte order of what is written. */
  readonly littleEndian: boolean;

  constructor(littleEndian = true, capacity = 256) {
    this.littleEndian = littleEndian;
    this.#array = new Uint8Array(capacity);
    this.#view = new DataView(this.#array.buffer);
  }

  #reserve(size: number): number {
    const at = this.length;
    if (at + size > this.#array.length) {
      const bigger = new Uint8Array(Math.max(at + size, this.#array.length * 2));
      bigger.set(this.#array);
      this.#array = bigger;
      this.#view = new DataView(bigger.buffer);
    }
    this.length += size;
    return at;
  }

  /** Start a record with its header. `endRecord` sets the size. */
  beginRecord(type: number, misc: number): void {
    this.#recordStart = this.length;
    this.u32(type);
    this.u16(misc);
    this.u16(0);
  }

  /** Set the size of the record that was begun last. Throws RangeError if it does not fit into 16 bits. */
  endRecord(): void {
    const size = this.length - this.#recordStart;
    if (size > 0xffff) throw new RangeError(`a record of ${size} bytes does not fit the 16-bit size field`);
    this.#view.setUint16(this.#recordStart + 6, size, this.littleEndian);
  }

  /** The low 8 bits. */
  u8(value: number): void {
    this.#view.setUint8(this.#reserve(1), value);
  }

  /** The low 16 bits. */
  u16(value: number): void {
    const at = this.#reserve(2);
    this.#view.setUint16(at, value, this.littleEndian);
  }

  /** The low 32 bits. */
  u32(value: number): void {
    const at = this.#reserve(4);
    this.#view.setUint32(at, value, this.littleEndian);
  }

  /** A signed number in 4 bytes. */
  i32(value: number): void {
    this.u32(value >>> 0);
  }

  /** The low 64 bits. */
  u64(value: bigint): void {
    this.u64Pair(loOf(value), hiOf(value));
  }

  /** A number of 64 bits, given as two halves. */
  u64Pair(lo: number, hi: number): void {
    const at = this.#reserve(8);
    this.#view.setUint32(at, this.littleEndian ? lo : hi, this.littleEndian);
    this.#view.setUint32(at + 4, this.littleEndian ? hi : lo, this.littleEndian);
  }

  /** A floating-point number in 8 bytes. */
  f64(value: number): void {
    const at = this.#reserve(8);
    this.#view.setFloat64(at, value, this.littleEndian);
  }

  /** Exactly `size` bytes. `value` is cut, or zeros follow it. */
  bytes(value: Uint8Array, size: number): void {
    const at = this.#reserve(size);
    this.#array.fill(0, at, at + size);
    this.#array.set(value.subarray(0, size), at);
  }

  /** The bytes as they are. */
  rest(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#array.set(value, at);
  }

  /**
   * UTF-8 text in exactly `size` bytes. Zeros follow short text. Long text is cut, and no zero follows it.
   */
  chars(value: string, size: number): void {
    this.bytes(encodeUtf8(value), size);
  }

  /**
   * Text, a NUL, and zeros up to a multiple of 8 from the record's start. If `area` holds this text,
   * `area` is written as it is.
   */
  text(value: string, area?: Uint8Array): void {
    if (area !== undefined) {
      if (textUpToNul(area) === value) {
        this.rest(area);
        return;
      }
    }
    const encoded = encodeUtf8(value);
    this.bytes(encoded, paddedTextSize(encoded.length, this.length - this.#recordStart));
  }

  /** A count in 8 bytes, then the numbers in 8 bytes each. */
  u64list(values: readonly bigint[]): void {
    this.u64(BigInt(values.length));
    for (const value of values) this.u64(value);
  }

  /** A count in 8 bytes, then the items as `writeItem` writes them. */
  list<T>(items: readonly T[], writeItem: (writer: BodyWriter, item: T) => void): void {
    this.u64(BigInt(items.length));
    for (const item of items) writeItem(this, item);
  }

  /** Take back the last `size` bytes of the record that was begun last, if all of them are zero. */
  dropZeros(size: number): void {
    const from = this.length - size;
    if (from < this.#recordStart + RECORD_HEADER_SIZE) return;
    if (this.#array.subarray(from, this.length).every((byte) => byte === 0)) this.length = from;
  }

  /** What was written. Borrowed until the next write. */
  view8(): Uint8Array<ArrayBuffer> {
    return this.#array.subarray(0, this.length);
  }

  /** A copy of what was written. The writer is empty again. */
  take(): Uint8Array<ArrayBuffer> {
    const copy = this.#array.slice(0, this.length);
    this.length = 0;
    return copy;
  }
}
