/** Instructions and time by call path: a prefix tree with a weight in each node. */
import { TripleTable } from '@counterpoint/core/base';
import { Float64Column, Int32Column } from '@counterpoint/core/profile';
import { CALL_ROOT, CALL_UNTRACED } from './call-kinds.ts';
import { NO_ROW } from './call-record.ts';

/** Beyond, calls that were never made from where they are made now count for their callers. */
const MOST_PATHS = 1 << 21;

/** Instructions and time by call path, a row each: the callers of a row are its parents. */
export class CallTree {
  /** Row of the function's address; NO_ROW where it is not known. */
  readonly functionRow = new Int32Column();
  /** CALL_UNTRACED, or anything else. */
  readonly kind = new Int32Column();
  /** Row of the caller's path; NO_ROW for an outermost one. */
  readonly parent = new Int32Column();
  /** Times called from there. */
  readonly calls = new Float64Column();
  /** Instructions in the function itself, without those of what it calls. */
  readonly instructions = new Float64Column();
  /** TSC ticks in the function itself; 0 where the trace has no time. */
  readonly ticks = new Float64Column();
  /** Calls that found no room of their own. */
  cut = 0;
  readonly #paths = new TripleTable();
  #lastInstructions = 0;
  #lastTicks = Number.NaN;

  /** Number of rows. Parents come before their children. */
  get length(): number {
    return this.functionRow.length;
  }

  /**
   * The path of a call that is made on a path; parents come before children.
   *
   * @internal
   */
  child(parent: number, functionRow: number, kind: number): number {
    const isUntraced = kind === CALL_UNTRACED ? 1 : 0;
    // Calls that nobody saw are not those of whatever happens to be below.
    const under = kind === CALL_ROOT ? NO_ROW : parent;
    if (this.length >= MOST_PATHS && under !== NO_ROW) {
      this.cut++;
      return under;
    }
    const path = this.#paths.find(under, functionRow, isUntraced);
    if (path >= 0) return path;
    this.functionRow.push(functionRow);
    this.kind.push(kind);
    this.parent.push(under);
    this.calls.push(0);
    this.instructions.push(0);
    this.ticks.push(0);
    return this.length - 1;
  }

  /**
   * What was executed since the last time belongs to a path.
   *
   * @internal
   */
  account(path: number, instructions: number, ticks: number): void {
    const count = instructions - this.#lastInstructions;
    const time = ticks - this.#lastTicks;
    this.#lastInstructions = instructions;
    this.#lastTicks = ticks;
    if (path === NO_ROW) return;
    this.instructions.data[path]! += count;
    if (time > 0) this.ticks.data[path]! += time;
  }

  /** @internal */
  left(path: number): void {
    if (path !== NO_ROW) this.calls.data[path]! += 1;
  }

  /** @internal */
  forgetTime(): void {
    this.#lastTicks = Number.NaN;
  }
}
