import { RECORD_HEADER_SIZE } from '../abi/index.ts';
import { encodeUtf8, hiOf, loOf, textUpToNul } from '../base/index.ts';
import { paddedTextSize } from './text-area.ts';

/** Writes the fields of records in order into a growing buffer. Mirrors `BodyReader`. */
export class BodyWriter {
  #view: DataView<ArrayBuffer>;
  #array: Uint8Array<ArrayBuffer>;
  #recordStart = 0;
  /** Bytes written so far. */
  length = 0;
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

  /** Start a record: header with size 0, to be set by `endRecord`. */
  beginRecord(type: number, misc: number): void {
    this.#recordStart = this.length;
    this.u32(type);
    this.u16(misc);
    this.u16(0);
  }

  /** Set the size of the record begun last. Throws where it does not fit the 16-bit size field. */
  endRecord(): void {
    const size = this.length - this.#recordStart;
    if (size > 0xffff) throw new RangeError(`a record of ${size} bytes does not fit the 16-bit size field`);
    this.#view.setUint16(this.#recordStart + 6, size, this.littleEndian);
  }

  u8(value: number): void {
    this.#view.setUint8(this.#reserve(1), value);
  }

  u16(value: number): void {
    const at = this.#reserve(2);
    this.#view.setUint16(at, value, this.littleEndian);
  }

  u32(value: number): void {
    const at = this.#reserve(4);
    this.#view.setUint32(at, value, this.littleEndian);
  }

  i32(value: number): void {
    this.u32(value >>> 0);
  }

  u64(value: bigint): void {
    this.u64Pair(loOf(value), hiOf(value));
  }

  u64Pair(lo: number, hi: number): void {
    const at = this.#reserve(8);
    this.#view.setUint32(at, this.littleEndian ? lo : hi, this.littleEndian);
    this.#view.setUint32(at + 4, this.littleEndian ? hi : lo, this.littleEndian);
  }

  f64(value: number): void {
    const at = this.#reserve(8);
    this.#view.setFloat64(at, value, this.littleEndian);
  }

  /** Exactly `size` bytes: cut or filled with zeros. */
  bytes(value: Uint8Array, size: number): void {
    const at = this.#reserve(size);
    this.#array.fill(0, at, at + size);
    this.#array.set(value.subarray(0, size), at);
  }

  rest(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#array.set(value, at);
  }

  chars(value: string, size: number): void {
    this.bytes(encodeUtf8(value), size);
  }

  /**
   * Text, NUL, zeros up to a multiple of 8 from the record's start; or `area` as it
   * is where it holds this text.
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

  u64list(values: readonly bigint[]): void {
    this.u64(BigInt(values.length));
    for (const value of values) this.u64(value);
  }

  list<T>(items: readonly T[], writeItem: (writer: BodyWriter, item: T) => void): void {
    this.u64(BigInt(items.length));
    for (const item of items) writeItem(this, item);
  }

  /** Take back the last `size` bytes of the record begun last, where all are zero. */
  dropZeros(size: number): void {
    const from = this.length - size;
    if (from < this.#recordStart + RECORD_HEADER_SIZE) return;
    if (this.#array.subarray(from, this.length).every((byte) => byte === 0)) this.length = from;
  }

  /** What was written. Borrowed until the next write. */
  view8(): Uint8Array<ArrayBuffer> {
    return this.#array.subarray(0, this.length);
  }

  /** What was written, as a copy; starts again from empty. */
  take(): Uint8Array<ArrayBuffer> {
    const copy = this.#array.slice(0, this.length);
    this.length = 0;
    return copy;
  }
}
