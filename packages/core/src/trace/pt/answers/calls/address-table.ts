import { TripleTable } from '../../../../base/index.ts';

/** Addresses as rows: two int32 halves once, and one small number everywhere else. */
export class AddressTable {
  readonly #rows = new TripleTable();

  get length(): number {
    return this.#rows.length;
  }

  rowOf(lo: number, hi: number): number {
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
