/** Rows known by three 32-bit numbers: an open-addressed hash table in typed arrays. Rows count up from 0. */
export class TripleTable {
  #a: Int32Array<ArrayBuffer>;
  #b: Int32Array<ArrayBuffer>;
  #c: Int32Array<ArrayBuffer>;
  /** Slot -> row + 1; 0 is empty. At most half full. */
  #slots: Int32Array<ArrayBuffer>;
  #mask: number;
  /** How many rows there are. */
  length = 0;

  /** `rows` have room without growing. */
  constructor(rows = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(rows, 1)));
    this.#a = new Int32Array(capacity);
    this.#b = new Int32Array(capacity);
    this.#c = new Int32Array(capacity);
    this.#slots = new Int32Array(capacity * 2);
    this.#mask = capacity * 2 - 1;
  }

  /** The row of (a, b, c), or -1 - (the row it was just given). */
  find(a: number, b: number, c: number): number {
    let slot = hash(a, b, c) & this.#mask;
    for (;;) {
      const row = this.#slots[slot]! - 1;
      if (row < 0) break;
      if (this.#b[row] === b && this.#a[row] === a && this.#c[row] === c) return row;
      slot = (slot + 1) & this.#mask;
    }
    if (this.length === this.#a.length) {
      this.#grow();
      return this.find(a, b, c);
    }
    const row = this.length++;
    this.#a[row] = a;
    this.#b[row] = b;
    this.#c[row] = c;
    this.#slots[slot] = row + 1;
    return -1 - row;
  }

  /** The row of (a, b, c), or -1: none is made. */
  lookUp(a: number, b: number, c: number): number {
    for (let slot = hash(a, b, c) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const row = this.#slots[slot]! - 1;
      if (row < 0 || (this.#b[row] === b && this.#a[row] === a && this.#c[row] === c)) return row;
    }
  }

  /** The first number of a row. */
  firstAt(row: number): number {
    return this.#a[row]!;
  }

  /** The second number of a row. */
  secondAt(row: number): number {
    return this.#b[row]!;
  }

  /** The third number of a row. */
  thirdAt(row: number): number {
    return this.#c[row]!;
  }

  /** Removes all rows; the memory is kept. */
  clear(): void {
    this.length = 0;
    this.#slots.fill(0);
  }

  #grow(): void {
    const capacity = this.#a.length * 2;
    this.#a = copyInto(this.#a, capacity);
    this.#b = copyInto(this.#b, capacity);
    this.#c = copyInto(this.#c, capacity);
    this.#slots = new Int32Array(capacity * 2);
    this.#mask = capacity * 2 - 1;
    for (let row = 0; row < this.length; row++) {
      let slot = hash(this.#a[row]!, this.#b[row]!, this.#c[row]!) & this.#mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = row + 1;
    }
  }
}

function copyInto(from: Int32Array, capacity: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(capacity);
  to.set(from);
  return to;
}

function hash(a: number, b: number, c: number): number {
  let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return h ^ (h >>> 13);
}
