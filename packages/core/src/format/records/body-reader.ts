import { bigIntAt, textUpToNul } from '../../base/index.ts';

const EMPTY = new Uint8Array();

/**
 * Reads the fields of one record body in order. An older writer's record may be shorter: its missing fields
 * read as zero or empty. Nothing outside `[pos, end)` is read.
 */
export class BodyReader {
  /** How many bytes were requested beyond the end. */
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

  /** Where the next field of `size` bytes starts. -1 if the record ends inside it. */
  #take(size: number): number {
    const at = this.#pos;
    if (at + size <= this.#end) {
      this.#pos = at + size;
      return at;
    }
    this.missing += at + size - this.#end;
    this.#pos = this.#end;
    return -1;
  }

  /** An unsigned byte. */
  u8(): number {
    const at = this.#take(1);
    return at < 0 ? 0 : this.#view.getUint8(at);
  }

  /** An unsigned number of 2 bytes. */
  u16(): number {
    const at = this.#take(2);
    return at < 0 ? 0 : this.#view.getUint16(at, this.#littleEndian);
  }

  /** An unsigned number of 4 bytes. */
  u32(): number {
    const at = this.#take(4);
    return at < 0 ? 0 : this.#view.getUint32(at, this.#littleEndian);
  }

  /** A signed number of 4 bytes. */
  i32(): number {
    return this.u32() | 0;
  }

  /** An unsigned number of 8 bytes. */
  u64(): bigint {
    const at = this.#take(8);
    return at < 0 ? 0n : bigIntAt(this.#view, at, this.#littleEndian);
  }

  /** A floating-point number of 8 bytes. */
  f64(): number {
    const at = this.#take(8);
    return at < 0 ? 0 : this.#view.getFloat64(at, this.#littleEndian);
  }

  /** A copy of the next `size` bytes, or of fewer if the record ends before. */
  bytes(size: number): Uint8Array {
    const to = Math.min(this.#pos + size, this.#end);
    this.missing += this.#pos + size - to;
    const copy = this.#slice(this.#pos, to);
    this.#pos = to;
    return copy;
  }

  /** A copy of all bytes up to the end of the record. */
  rest(): Uint8Array {
    return this.bytes(this.#end - this.#pos);
  }

  /**
   * A copy of the bytes after the known fields. If there are none: an empty array that all records share.
   */
  tail(): Uint8Array {
    return this.#pos < this.#end ? this.rest() : EMPTY;
  }

  /** UTF-8 text in a field of `size` bytes, up to its first zero. */
  chars(size: number): string {
    return textUpToNul(this.bytes(size));
  }

  /** A count in 8 bytes, then that many numbers of 8 bytes each. It reads no more than the record holds. */
  u64list(): bigint[] {
    return this.list(() => this.u64(), 8);
  }

  /**
   * A count in 8 bytes, then that many items of `itemSize` bytes. It reads no more than the record holds.
   */
  list<T>(readItem: (reader: BodyReader) => T, itemSize: number): T[] {
    const count = this.#count(itemSize);
    const items: T[] = [];
    for (let i = 0; i < count; i++) items.push(readItem(this));
    return items;
  }

  /** A count in 8 bytes, lowered to the number of items that the record has room for. */
  #count(itemSize: number): number {
    const claimed = Number(this.u64());
    return Math.min(claimed, Math.floor((this.#end - this.#pos) / itemSize));
  }

  #slice(from: number, to: number): Uint8Array {
    if (to <= from) return EMPTY;
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + from, to - from).slice();
  }
}
