/**
 * Texts of so many rows are kept: of a trace of real code all, of one that invents addresses
 * those since it was last full.
 */
const MOST_ROWS = 1 << 16;

/** What is worked out for rows again and again: begins anew where it is full. */
export class RowCache<Value> {
  #values: (Value | undefined)[] = [];
  #count = 0;

  get(row: number): Value | undefined {
    return this.#values[row];
  }

  /** Of a row that has none. */
  set(row: number, value: Value): Value {
    if (this.#count++ >= MOST_ROWS) {
      this.#values = [];
      this.#count = 1;
    }
    this.#values[row] = value;
    return value;
  }
}
