/**
 * Machine code that grows, with the address at which it will stand. One is used again and again: thousands of
 * blocks a second would keep the garbage collector busy.
 */
export class Emitter {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #size = 0;
  #base = 0;

  constructor(mostBytes: number) {
    this.#bytes = new Uint8Array(mostBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** What was written before is gone, also from `code` of before. */
  begin(base: number): this {
    this.#base = base;
    this.#size = 0;
    return this;
  }

  get base(): number {
    return this.#base;
  }

  /** Where the next byte will stand. */
  get address(): number {
    return this.#base + this.#size;
  }

  get size(): number {
    return this.#size;
  }

  /** Borrowed until `begin`. */
  get code(): Uint8Array {
    return this.#bytes.subarray(0, this.#size);
  }

  bytes(...values: number[]): void {
    for (const value of values) this.#bytes[this.#size++] = value;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end; at++) this.#bytes[this.#size++] = from[at]!;
  }

  /** The last four bytes of an instruction: the distance from its end to `target`. */
  distance(target: number): void {
    const value = target - (this.address + 4);
    if (!fits32(value)) throw new RangeError(`${target.toString(16)} is too far from the code`);
    this.#view.setInt32(this.#size, value, true);
    this.#size += 4;
  }

  /** A distance whose target is known later: `setDistance` with the answer. */
  openDistance(): number {
    this.#size += 4;
    return this.#size - 4;
  }

  setDistance(at: number, target: number): void {
    this.#view.setInt32(at, target - (this.base + at + 4), true);
  }

  int32(value: number): void {
    this.#view.setInt32(this.#size, value, true);
    this.#size += 4;
  }

  setInt32(at: number, value: number): void {
    this.#view.setInt32(at, value, true);
  }

  /** A short jump's distance, known later. */
  openShort(): number {
    this.#size++;
    return this.#size - 1;
  }

  setShort(at: number, target: number): void {
    this.#view.setInt8(at, target - (this.base + at + 1));
  }

  address64(value: number): void {
    this.#view.setUint32(this.#size, value >>> 0, true);
    this.#view.setUint32(this.#size + 4, Math.floor(value / 2 ** 32), true);
    this.#size += 8;
  }

  align(bytes: number): void {
    while (this.address % bytes !== 0) this.bytes(0xcc);
  }
}

export function fits32(value: number): boolean {
  return value >= -(2 ** 31) && value < 2 ** 31;
}
