/**
 * Indirect branches that have been met before, for the inner loop: a packed record each, found by the row
 * of the branch and its target.
 *
 *   | 0 row | 1, 2 target | 3 next row, and in its low bits the calls | 4 count | 5 - node | 6, 7 where these calls return to, as rows |
 *
 * Open addressing; row 0, which is none, marks a free record. What has more calls on its way is
 * left to GraphEngine each time.
 */
export const EDGE_ROW = 0;
export const EDGE_LO = 1;
export const EDGE_HI = 2;
export const EDGE_NEXT = 3;
export const EDGE_COUNT = 4;
export const EDGE_NODE = 5;
export const EDGE_CALLS = 6;
/** Numbers a record, as a shift. */
export const EDGE_SHIFT = 3;
export const EDGE_LENGTH = 8;
export const MOST_EDGE_CALLS = 2;
/** Rows are multiples of 256. */
export const EDGE_CALLS_MASK = 0xff;
export const EDGE_HASH_ROW = 0x85eb_ca6b;
export const EDGE_HASH = 0x9e37_79b1;

const FIRST_BITS = 10;
/** 8 MiB. */
const MOST_BITS = 18;

const NO_RECORDS = new Int32Array(0);

export class EdgeCache {
  records = NO_RECORDS;
  /** Of the hash: what is left is the record. */
  shift = 0;
  #used = 0;
  #bits = FIRST_BITS;

  constructor() {
    // V8 takes a field that was set once for a constant: the first time that edges grow
    // would undo the compiled loop.
    this.records = new Int32Array(EDGE_LENGTH << FIRST_BITS);
    this.shift = 32 - FIRST_BITS;
  }

  /** Too many: `drain`, then `clear`. */
  get isFull(): boolean {
    return this.#used >= 1 << (MOST_BITS - 1);
  }

  /** Unless it is there. `calls` are at most MOST_EDGE_CALLS rows, outermost first. */
  add(row: number, lo: number, hi: number, next: number, node: number, calls: readonly number[]): void {
    if (this.#used >= 1 << (this.#bits - 1)) this.#grow();
    const { records } = this;
    const at = this.#find(row, lo, hi);
    if (records[at] !== 0) return;
    records[at + EDGE_ROW] = row;
    records[at + EDGE_LO] = lo;
    records[at + EDGE_HI] = hi;
    records[at + EDGE_NEXT] = next | calls.length;
    records[at + EDGE_COUNT] = 0;
    records[at + EDGE_NODE] = -node;
    for (const [call, callRow] of calls.entries()) records[at + EDGE_CALLS + call] = callRow;
    this.#used++;
  }

  /** What was counted since the last time; begins at 0 again. */
  drain(visit: (node: number, nextRow: number, count: number) => void): void {
    const { records } = this;
    for (let at = 0; at < records.length; at += EDGE_LENGTH) {
      const count = records[at + EDGE_COUNT]! >>> 0;
      if (count === 0) continue;
      records[at + EDGE_COUNT] = 0;
      visit(-records[at + EDGE_NODE]!, records[at + EDGE_NEXT]! & ~EDGE_CALLS_MASK, count);
    }
  }

  clear(): void {
    this.records.fill(0);
    this.#used = 0;
  }

  /** Its record, or a free one for it. */
  #find(row: number, lo: number, hi: number): number {
    const { records } = this;
    const last = records.length - 1;
    let at = (Math.imul(lo ^ Math.imul(row, EDGE_HASH_ROW), EDGE_HASH) >>> this.shift) << EDGE_SHIFT;
    while (
      records[at] !== 0 &&
      (records[at] !== row || records[at + EDGE_LO] !== lo || records[at + EDGE_HI] !== hi)
    )
      at = (at + EDGE_LENGTH) & last;
    return at;
  }

  #grow(): void {
    const old = this.records;
    this.#bits++;
    this.shift--;
    this.records = new Int32Array(EDGE_LENGTH << this.#bits);
    for (let from = 0; from < old.length; from += EDGE_LENGTH)
      if (old[from] !== 0)
        this.records.set(
          old.subarray(from, from + EDGE_LENGTH),
          this.#find(old[from + EDGE_ROW]!, old[from + EDGE_LO]!, old[from + EDGE_HI]!),
        );
  }
}
