import { TripleTable } from '@counterpoint/core/base';
import { NO_ROW } from './call-record.ts';

/**
 * Some 40 MiB, and as much again in the columns of those who count by row. Programs have a fraction of them.
 */
const MOST_ROWS = 1 << 21;

/** Addresses as rows: two int32 halves once, and one small number everywhere else. */
export class AddressTable {
  /** How often an address was asked for that has no room. */
  leftOut = 0;
  readonly #rows = new TripleTable();

  get length(): number {
    return this.#rows.length;
  }

  /**
   * NO_ROW where an address has no room: a trace that is damaged, or made for it,
   * names every byte of the code.
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

  loOf(row: number): number {
    return this.#rows.firstAt(row);
  }

  hiOf(row: number): number {
    return this.#rows.secondAt(row);
  }
}
