import { toBigInt } from '../base/index.ts';

const EMPTY = new Uint8Array();
const utf8 = new TextDecoder();

/**
 * Reads the fields of one record body in order. Beyond `end` every field is zero or empty: a shorter record
 * is an older writer's. Never reads outside `[pos, end)`.
 */
export class BodyReader {
  /**
   * Set by `text()` where the bytes were not `text NUL, zeros to 8`: writing the
   * text again would change them.
   */
  textArea: Uint8Array | null = null;
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
    this.textArea = null;
    this.missing = 0;
    return this;
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
    const first = this.#view.getUint32(this.#pos, this.#littleEndian);
    const second = this.#view.getUint32(this.#pos + 4, this.#littleEndian);
    this.#pos += 8;
    return this.#littleEndian ? toBigInt(first, second) : toBigInt(second, first);
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
    return decodeText(this.bytes(size));
  }

  text(): string {
    const area = this.rest();
    const text = decodeText(area);
    this.textArea = isCanonical(area, this.#pos - area.length - this.#start) ? null : area;
    return text;
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

function decodeText(bytes: Uint8Array): string {
  const nul = bytes.indexOf(0);
  return utf8.decode(nul < 0 ? bytes : bytes.subarray(0, nul));
}

/** Whether the bytes are what `BodyWriter.text` would write at this place in a record. */
function isCanonical(area: Uint8Array, offsetInRecord: number): boolean {
  const nul = area.indexOf(0);
  if (nul < 0 || area.length !== paddedTextSize(nul, offsetInRecord)) return false;
  for (let i = nul; i < area.length; i++) if (area[i] !== 0) return false;
  return area.every((byte) => byte < 0x80) || isPlainUtf8(area.subarray(0, nul));
}

function isPlainUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Bytes that text of `length` bytes takes with its NUL, so that the record ends on a multiple of 8. */
export function paddedTextSize(length: number, offsetInRecord: number): number {
  return Math.ceil((offsetInRecord + length + 1) / 8) * 8 - offsetInRecord;
}
