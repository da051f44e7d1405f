import { TripleTable } from '@counterpoint/core/base';
import { Float64Column } from '@counterpoint/core/profile';

/** Counts by (from, to), two rows of another table. */
export class BranchTable {
  /** What was counted for pairs that found no room. */
  leftOut = 0;
  readonly #pairs: TripleTable;
  readonly #count: Float64Column;
  readonly #most: number;

  /** `most` pairs have room: there may be as many as the square of the rows. */
  constructor(most: number, expected = 64) {
    this.#most = most;
    this.#pairs = new TripleTable(expected);
    this.#count = new Float64Column(expected);
  }

  /**
   * The same room, empty, and made ready for this many.
   *
   * @internal
   */
  emptied(expected: number): BranchTable {
    const table = new BranchTable(this.#most, Math.min(expected, this.#most));
    table.leftOut = this.leftOut;
    return table;
  }

  /** Number of pairs. */
  get size(): number {
    return this.#pairs.length;
  }

  /** No other pair has room. */
  get isFull(): boolean {
    return this.size >= this.#most;
  }

  /** A negative row is one that found no room itself. */
  add(from: number, to: number, count: number): void {
    if (from < 0 || to < 0 || this.isFull) {
      const known = this.#pairs.lookUp(from, to, 0);
      if (known < 0) this.leftOut += count;
      else this.#count.data[known]! += count;
      return;
    }
    const row = this.#pairs.find(from, to, 0);
    if (row < 0) this.#count.push(count);
    else this.#count.data[row]! += count;
  }

  /** What was counted for a pair; 0 where it is not there. */
  countOf(from: number, to: number): number {
    const row = this.#pairs.lookUp(from, to, 0);
    return row < 0 ? 0 : this.#count.at(row);
  }

  /** Every pair, in the order in which they were met first. */
  forEach(visit: (from: number, to: number, count: number) => void): void {
    for (let row = 0; row < this.size; row++)
      visit(this.#pairs.firstAt(row), this.#pairs.secondAt(row), this.#count.at(row));
  }
}
