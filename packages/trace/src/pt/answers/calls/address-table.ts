import { TripleTable } from '@counterpoint/core/base';
import { NO_ROW } from './call-record.ts';

/**
 * Some 40 MiB, and as much again in the columns of those who count by row. Programs have a fraction of them.
 */
const MOST_ROWS = 1 << 21;

/**
 * Gives each address a row. Other tables keep what belongs to an address (a call, a path) at the same row.
 */
export class AddressTable {
  /** How often an address was asked for that has no room. */
  leftOut = 0;
  readonly #rows = new TripleTable();

  /** Number of rows. */
  get length(): number {
    return this.#rows.length;
  }

  /**
   * The row of an address (int32 halves), a new one where it has none. NO_ROW where there is no room: a trace
   * that is damaged, or made for it, names every byte of the code.
   */
  rowOf(lo: number, hi: number): number {
    if (this.length >= MOST_ROWS) {
      const known = this.#rows.lookUp(lo, hi, 0);
      if (known >= 0) return known;
      this.leftOut++;
      return NO_ROW;
    }
    const row = this.#rows.find(lo, hi, 0);
    return row >= 0 ? row : -1 - row;
  }

  /** Low half of a row's address, as int32: `>>> 0` makes it unsigned. */
  loOf(row: number): number {
    return this.#rows.firstAt(row);
  }

  /** High half of a row's address, as int32. */
  hiOf(row: number): number {
    return this.#rows.secondAt(row);
  }
}
