/**
 * Growable typed arrays. `data` may be longer than `length`; `view()` is what is filled
 * (borrowed until the next push).
 */

export class Int32Column {
  data: Int32Array<ArrayBuffer>;
  length = 0;

  constructor(capacity = 64) {
    this.data = new Int32Array(capacity);
  }

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

  at(index: number): number {
    return this.data[index]!;
  }

  view(): Int32Array {
    return this.data.subarray(0, this.length);
  }
}

export class Float64Column {
  data: Float64Array<ArrayBuffer>;
  length = 0;

  constructor(capacity = 64) {
    this.data = new Float64Array(capacity);
  }

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

  at(index: number): number {
    return this.data[index]!;
  }

  view(): Float64Array {
    return this.data.subarray(0, this.length);
  }
}
