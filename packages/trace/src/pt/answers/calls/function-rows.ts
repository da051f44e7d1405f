/** The function that an address belongs to, as rows of an AddressTable: each asked for once. */
import { TWO_32 } from '@counterpoint/core/base';
import type { CodeFunctions } from '../tables/code-functions.ts';
import type { AddressTable } from './address-table.ts';
import { NO_ROW } from './call-record.ts';

const UNKNOWN = 0;
const NONE = 1;
const FIRST_ROW = 2;

export class FunctionRows {
  /** Functions were given: jumps between them can be told. */
  readonly isKnown: boolean;
  readonly #functions: CodeFunctions | undefined;
  readonly #addresses: AddressTable;
  #known = new Int32Array(1024);

  constructor(addresses: AddressTable, functions: CodeFunctions | undefined) {
    this.#addresses = addresses;
    this.#functions = functions;
    this.isKnown = functions !== undefined;
  }

  /** The row where the function of an address begins; NO_ROW where none is known. */
  startOf(row: number): number {
    if (this.#functions === undefined || row < 0) return NO_ROW;
    if (row >= this.#known.length) {
      const longer = new Int32Array(Math.max(row + 1, this.#known.length * 2));
      longer.set(this.#known);
      this.#known = longer;
    }
    const known = this.#known[row]!;
    if (known !== UNKNOWN) return known - FIRST_ROW;
    const start = this.#functions.startOf(this.#addresses.loOf(row), this.#addresses.hiOf(row));
    const found = Number.isNaN(start)
      ? NO_ROW
      : this.#addresses.rowOf(start | 0, Math.floor(start / TWO_32) | 0);
    this.#known[row] = (found === NO_ROW ? NONE : found + FIRST_ROW) | 0;
    return found;
  }

  /** Do two addresses lie in two functions, both known? */
  crosses(from: number, to: number): boolean {
    if (!this.isKnown) return false;
    const target = this.startOf(to);
    return target !== NO_ROW && target !== this.startOf(from);
  }
}
