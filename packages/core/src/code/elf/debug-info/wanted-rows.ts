import { ROW_ENDS_SEQUENCE, type RowSink } from '../dwarf/line-rows.ts';
import { isLeftOut } from '../dwarf/line-table.ts';
import { firstFrom } from './scopes.ts';

/** What a row of a line table says. */
export interface LineRow {
  /** A number of the unit's files. */
  readonly file: number;
  readonly line: number;
  readonly column: number;
}

/**
 * Takes the rows of a line program and keeps those that some address is in: of millions of rows a few
 * hundred. A row is valid up to the address of the next in its sequence. Where sequences overlap, one of that
 * which begins last has the address, as in `LineTable`.
 */
export class WantedRows implements RowSink {
  length = 0;
  /** By address; null where no row has it. */
  readonly rows: (LineRow | null)[];
  /** Sequences whose addresses do not ascend: they count for nothing. */
  damaged = 0;
  readonly #addresses: Float64Array;
  /** By address: where the sequence begins that has it. */
  readonly #starts: Float64Array;
  /** Place and row of the addresses that the sequence at hand has, until it ends well. */
  readonly #found: { place: number; row: LineRow }[] = [];
  #isFirst = true;
  #isAscending = true;
  #start = 0;
  /** The next address that is wanted, and its place. */
  #next = Number.POSITIVE_INFINITY;
  #place = 0;
  /** The row before. */
  #address = 0;
  #file = 0;
  #line = 0;
  #column = 0;

  /** `addresses` ascend. */
  constructor(addresses: Float64Array) {
    this.#addresses = addresses;
    this.rows = new Array<LineRow | null>(addresses.length).fill(null);
    this.#starts = new Float64Array(addresses.length).fill(Number.NEGATIVE_INFINITY);
  }

  push(address: number, file: number, line: number, flags: number, column: number): void {
    this.length++;
    if (this.#isFirst) this.#begin(address);
    else if (address > this.#next) this.#find(address);
    else if (address < this.#address) this.#isAscending = false;
    this.#address = address;
    this.#file = file;
    this.#line = line;
    this.#column = column;
    if ((flags & ROW_ENDS_SEQUENCE) !== 0) this.#end();
  }

  #begin(address: number): void {
    this.#isFirst = false;
    this.#start = address;
    this.#place = firstFrom(this.#addresses, address);
    this.#next = this.#addresses[this.#place] ?? Number.POSITIVE_INFINITY;
  }

  /** Addresses before `end` are in the row before. */
  #find(end: number): void {
    const row = { file: this.#file, line: this.#line, column: this.#column };
    while (this.#next < end) {
      this.#found.push({ place: this.#place++, row });
      this.#next = this.#addresses[this.#place] ?? Number.POSITIVE_INFINITY;
    }
  }

  #end(): void {
    if (!this.#isAscending) this.damaged++;
    else if (!isLeftOut(this.#start))
      for (const { place, row } of this.#found) {
        if (this.#start < this.#starts[place]!) continue;
        this.#starts[place] = this.#start;
        this.rows[place] = row;
      }
    this.#found.length = 0;
    this.#isFirst = true;
    this.#isAscending = true;
  }
}
