import { bigIntAt, textUpToNul } from '../../../base/index.ts';

/**
 * Reads the parts of one feature section in order. At the end of the bytes it returns zeros and sets
 * `damaged`, so a decoder checks once per element and keeps what it had. Never reads outside the section.
 */
export class FeatureReader {
  readonly view: DataView;
  readonly littleEndian: boolean;
  /** Something was missing or not as the format says. */
  damaged = false;
  pos = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, littleEndian: boolean) {
    this.#bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.littleEndian = littleEndian;
  }

  get left(): number {
    return this.#bytes.length - this.pos;
  }

  /** Skip `size` bytes and return where they began, or -1 where they are not there. */
  skip(size: number): number {
    if (size > this.left) {
      this.damaged = true;
      this.pos = this.#bytes.length;
      return -1;
    }
    const at = this.pos;
    this.pos += size;
    return at;
  }

  u32(): number {
    const at = this.skip(4);
    return at < 0 ? 0 : this.view.getUint32(at, this.littleEndian);
  }

  u64(): bigint {
    const at = this.skip(8);
    return at < 0 ? 0n : bigIntAt(this.view, at, this.littleEndian);
  }

  /** u32 length, then that many bytes with at least one NUL at the end. */
  string(): string {
    const claimed = this.u32();
    const size = Math.min(claimed, this.left);
    const area = this.#bytes.subarray(this.pos, this.pos + size);
    this.pos += size;
    if (claimed !== size || area.indexOf(0) < 0) this.damaged = true;
    return textUpToNul(area);
  }

  /**
   * A u32 count, then that many elements of at least `leastSize` bytes each. Stops at
   * the first that is not whole.
   */
  list<T>(leastSize: number, readItem: () => T): T[] {
    return this.items(this.u32(), leastSize, readItem);
  }

  items<T>(claimed: number, leastSize: number, readItem: () => T): T[] {
    const count = Math.min(claimed, Math.floor(this.left / leastSize));
    if (count !== claimed) this.damaged = true;
    const items: T[] = [];
    for (let i = 0; i < count; i++) {
      const before = this.left;
      const item = readItem();
      // The last element may be cut, and one that starts beyond the end is none.
      if (before > 0) items.push(item);
      if (this.damaged && this.left === 0) break;
    }
    return items;
  }

  /** All that is left; borrowed from the section. */
  rest(): Uint8Array {
    const at = this.pos;
    this.pos = this.#bytes.length;
    return at === 0 ? this.#bytes : this.#bytes.subarray(at);
  }

  strings(): string[] {
    return this.list(4, () => this.string());
  }
}
