/**
 * Growable typed arrays. `data` may be longer than `length`; `view()` is what is filled
 * (borrowed until the next push).
 */

export class Int32Column {
  /** The memory: longer than the column. */
  data: Int32Array<ArrayBuffer>;
  /** How many numbers there are. */
  length = 0;

  /** `capacity` numbers have room without growing. */
  constructor(capacity = 64) {
    this.data = new Int32Array(capacity);
  }

  /** Adds a number, and gives its row. */
  push(value: number): number {
    if (this.length === this.data.length) this.#grow();
    this.data[this.length] = value;
    return this.length++;
  }

  #grow(): void {
    const bigger = new Int32Array(Math.max(64, this.data.length * 2));
    bigger.set(this.data);
    this.data = bigger;
  }

  /** The number of a row. */
  at(index: number): number {
    return this.data[index]!;
  }

  /** The numbers, as a view of the memory: borrowed until the next `push`. */
  view(): Int32Array {
    return this.data.subarray(0, this.length);
  }
}

/** A growing column of float64 numbers. */
export class Float64Column {
  /** The memory: longer than the column. */
  data: Float64Array<ArrayBuffer>;
  /** How many numbers there are. */
  length = 0;

  /** `capacity` numbers have room without growing. */
  constructor(capacity = 64) {
    this.data = new Float64Array(capacity);
  }

  /** Adds a number, and gives its row. */
  push(value: number): number {
    if (this.length === this.data.length) this.#grow(this.length + 1);
    this.data[this.length] = value;
    return this.length++;
  }

  /** At least so long: with zeros, where it was shorter. */
  lengthen(length: number): void {
    if (length <= this.length) return;
    if (length > this.data.length) this.#grow(length);
    this.data.fill(0, this.length, length);
    this.length = length;
  }

  #grow(least: number): void {
    const bigger = new Float64Array(Math.max(64, this.data.length * 2, least));
    bigger.set(this.data);
    this.data = bigger;
  }

  /** The number of a row. */
  at(index: number): number {
    return this.data[index]!;
  }

  /** The numbers, as a view of the memory: borrowed until the next `push`. */
  view(): Float64Array {
    return this.data.subarray(0, this.length);
  }
}
