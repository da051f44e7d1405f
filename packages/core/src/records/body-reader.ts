import { bigIntAt, textUpToNul } from '../base/index.ts';

const EMPTY = new Uint8Array();

/**
 * Reads the fields of one record body in order. Beyond `end` every field is zero or empty: a shorter record
 * is an older writer's. Never reads outside `[pos, end)`.
 */
export class BodyReader {
  /** Bytes that were asked for beyond the end. */
  missing = 0;
  #view: DataView;
  #pos = 0;
  #end = 0;
  #littleEndian = true;
  #start = 0;

  constructor(view: DataView) {
    this.#view = view;
  }

  /** Point at a body; `start` is where the record's header begins. */
  reset(view: DataView, start: number, pos: number, end: number, littleEndian: boolean): this {
    this.#view = view;
    this.#start = start;
    this.#pos = pos;
    this.#end = Math.max(pos, Math.min(end, view.byteLength));
    this.#littleEndian = littleEndian;
    this.missing = 0;
    return this;
  }

  /** Where the next field stands, from the record's header. */
  get offset(): number {
    return this.#pos - this.#start;
  }

  #has(size: number): boolean {
    if (this.#pos + size <= this.#end) return true;
    this.missing += this.#pos + size - this.#end;
    this.#pos = this.#end;
    return false;
  }

  u8(): number {
    return this.#has(1) ? this.#view.getUint8(this.#pos++) : 0;
  }

  u16(): number {
    if (!this.#has(2)) return 0;
    const value = this.#view.getUint16(this.#pos, this.#littleEndian);
    this.#pos += 2;
    return value;
  }

  u32(): number {
    if (!this.#has(4)) return 0;
    const value = this.#view.getUint32(this.#pos, this.#littleEndian);
    this.#pos += 4;
    return value;
  }

  i32(): number {
    return this.u32() | 0;
  }

  u64(): bigint {
    if (!this.#has(8)) return 0n;
    const value = bigIntAt(this.#view, this.#pos, this.#littleEndian);
    this.#pos += 8;
    return value;
  }

  f64(): number {
    if (!this.#has(8)) return 0;
    const value = this.#view.getFloat64(this.#pos, this.#littleEndian);
    this.#pos += 8;
    return value;
  }

  /** `size` bytes, fewer at the end of the record. A copy. */
  bytes(size: number): Uint8Array {
    const to = Math.min(this.#pos + size, this.#end);
    this.missing += this.#pos + size - to;
    const copy = this.#slice(this.#pos, to);
    this.#pos = to;
    return copy;
  }

  rest(): Uint8Array {
    return this.bytes(this.#end - this.#pos);
  }

  tail(): Uint8Array {
    return this.#pos < this.#end ? this.rest() : EMPTY;
  }

  chars(size: number): string {
    return textUpToNul(this.bytes(size));
  }

  u64list(): bigint[] {
    const count = this.#count(8);
    const values: bigint[] = [];
    for (let i = 0; i < count; i++) values.push(this.u64());
    return values;
  }

  list<T>(readItem: (reader: BodyReader) => T, itemSize: number): T[] {
    const count = this.#count(itemSize);
    const items: T[] = [];
    for (let i = 0; i < count; i++) items.push(readItem(this));
    return items;
  }

  /** A u64 count, but no more than what is really there. */
  #count(itemSize: number): number {
    const claimed = Number(this.u64());
    return Math.min(claimed, Math.floor((this.#end - this.#pos) / itemSize));
  }

  #slice(from: number, to: number): Uint8Array {
    if (to <= from) return EMPTY;
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + from, to - from).slice();
  }
}
