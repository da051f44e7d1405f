import { TripleTable } from '../../../base/index.ts';
import { Float64Column } from '../../../profile/index.ts';

/** Counts by (from, to), two rows of another table. */
export class BranchTable {
  readonly #pairs = new TripleTable();
  readonly #count = new Float64Column();

  get size(): number {
    return this.#pairs.length;
  }

  add(from: number, to: number, count: number): void {
    const row = this.#pairs.find(from, to, 0);
    if (row < 0) this.#count.push(count);
    else this.#count.data[row]! += count;
  }

  forEach(visit: (from: number, to: number, count: number) => void): void {
    for (let row = 0; row < this.size; row++)
      visit(this.#pairs.firstAt(row), this.#pairs.secondAt(row), this.#count.at(row));
  }
}
