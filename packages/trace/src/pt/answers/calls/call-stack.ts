/**
 * Calls that are open, innermost last, as columns. How often each return address and each function is on it
 * is counted, so that what is not there is not looked for.
 */
import { LEFT_TOO_DEEP } from './call-kinds.ts';
import { NO_ROW } from './call-record.ts';

const FIRST_DEPTH = 256;
/** Beyond, the outer half is given up. */
export const MOST_CALLS: number = 1 << 16;

export class CallStack {
  depth = 0;
  /** Outer calls that were given up: they count for the depth all the same. */
  dropped = 0;
  kind = new Uint8Array(FIRST_DEPTH);
  isUnsure = new Uint8Array(FIRST_DEPTH);
  functionRow = new Int32Array(FIRST_DEPTH);
  callerRow = new Int32Array(FIRST_DEPTH);
  returnRow = new Int32Array(FIRST_DEPTH);
  path = new Int32Array(FIRST_DEPTH);
  enterTicks = new Float64Array(FIRST_DEPTH);
  enterErrorTicks = new Float64Array(FIRST_DEPTH);
  enterInstructions = new Float64Array(FIRST_DEPTH);
  enterBranches = new Float64Array(FIRST_DEPTH);
  /** Instructions of the calls that were made in it. */
  innerInstructions = new Float64Array(FIRST_DEPTH);
  #returnsTo = new Int32Array(FIRST_DEPTH);
  #runs = new Int32Array(FIRST_DEPTH);

  /** A new innermost call, of which the caller fills in the columns of time and counts; its index. */
  push(kind: number, functionRow: number, callerRow: number, returnRow: number): number {
    const at = this.depth;
    if (at === this.kind.length) this.#grow();
    this.depth = at + 1;
    this.kind[at] = kind;
    this.isUnsure[at] = 0;
    this.functionRow[at] = functionRow;
    this.callerRow[at] = callerRow;
    this.returnRow[at] = returnRow;
    this.innerInstructions[at] = 0;
    this.#returnsTo = counted(this.#returnsTo, returnRow, 1);
    this.#runs = counted(this.#runs, functionRow, 1);
    return at;
  }

  /** The innermost, gone; its columns stay readable until the next push. */
  pop(): number {
    const at = --this.depth;
    this.#returnsTo = counted(this.#returnsTo, this.returnRow[at]!, -1);
    this.#runs = counted(this.#runs, this.functionRow[at]!, -1);
    return at;
  }

  /** Calls that return to an address. */
  returnsTo(row: number): number {
    return row >= 0 && row < this.#returnsTo.length ? this.#returnsTo[row]! : 0;
  }

  /** Calls of a function. */
  runs(row: number): number {
    return row >= 0 && row < this.#runs.length ? this.#runs[row]! : 0;
  }

  /** The innermost that returns to an address; it is there. */
  findReturn(row: number): number {
    return this.returnRow.lastIndexOf(row, this.depth - 1);
  }

  /** The innermost call of a function below an index, or -1. */
  findFunction(row: number, below: number): number {
    return below > 0 ? this.functionRow.lastIndexOf(row, below - 1) : -1;
  }

  get isFull(): boolean {
    return this.depth >= MOST_CALLS;
  }

  /** Give up the outer half; `tell` is asked for each, outermost first. */
  dropOuter(tell: (at: number, left: number) => void): void {
    const count = this.depth >>> 1;
    for (let at = 0; at < count; at++) {
      tell(at, LEFT_TOO_DEEP);
      this.#returnsTo = counted(this.#returnsTo, this.returnRow[at]!, -1);
      this.#runs = counted(this.#runs, this.functionRow[at]!, -1);
    }
    for (const column of this.#columns()) column.copyWithin(0, count, this.depth);
    this.depth -= count;
    this.dropped += count;
  }

  #columns() {
    return [
      this.kind,
      this.isUnsure,
      this.functionRow,
      this.callerRow,
      this.returnRow,
      this.path,
      this.enterTicks,
      this.enterErrorTicks,
      this.enterInstructions,
      this.enterBranches,
      this.innerInstructions,
    ];
  }

  #grow(): void {
    const length = this.kind.length * 2;
    this.kind = grown(this.kind, new Uint8Array(length));
    this.isUnsure = grown(this.isUnsure, new Uint8Array(length));
    this.functionRow = grown(this.functionRow, new Int32Array(length));
    this.callerRow = grown(this.callerRow, new Int32Array(length));
    this.returnRow = grown(this.returnRow, new Int32Array(length));
    this.path = grown(this.path, new Int32Array(length));
    this.enterTicks = grown(this.enterTicks, new Float64Array(length));
    this.enterErrorTicks = grown(this.enterErrorTicks, new Float64Array(length));
    this.enterInstructions = grown(this.enterInstructions, new Float64Array(length));
    this.enterBranches = grown(this.enterBranches, new Float64Array(length));
    this.innerInstructions = grown(this.innerInstructions, new Float64Array(length));
  }
}

function counted(counts: Int32Array<ArrayBuffer>, row: number, change: number): Int32Array<ArrayBuffer> {
  if (row === NO_ROW) return counts;
  let longer = counts;
  if (row >= counts.length) longer = grown(counts, new Int32Array(Math.max(counts.length * 2, row + 1)));
  longer[row]! += change;
  return longer;
}

function grown<Column extends Uint8Array | Int32Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
