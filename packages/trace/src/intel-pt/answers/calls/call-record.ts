import { CALL_KIND_NAMES, LEFT_NAMES } from './call-kinds.ts';

/** No function, caller, path. */
export const NO_ROW = -1;

/** One call. Borrowed: overwritten by the next. Rows are rows of the tracker's `addresses`. */
export class CallRecord {
  /** CALL_*. */
  kind = 0;
  /** LEFT_*; 0 while it is open. */
  left = 0;
  /**
   * Where the function begins: where the call went, or with known functions the beginning of that function.
   */
  functionRow: number = NO_ROW;
  /** The instruction that called. */
  callerRow: number = NO_ROW;
  /** Calls around it. */
  depth = 0;
  /**
   * Which one of several calls this is was guessed: the same function was called more than
   * once, and something was unwound.
   */
  isUnsure = false;
  /** TSC ticks since the tracker's `baseTsc`; NaN where there is no time. */
  enterTicks = Number.NaN;
  leaveTicks = Number.NaN;
  /** How far the clock may be from the truth then, in ticks; infinite where nothing bounds it. */
  enterErrorTicks = Number.POSITIVE_INFINITY;
  leaveErrorTicks = Number.POSITIVE_INFINITY;
  /** Instructions and branches while it was open, with those of the calls inside it. */
  instructions = 0;
  branches = 0;
  /** Without those of the calls inside it. */
  ownInstructions = 0;
  /** NO_ROW, or the row of the call tree. */
  path: number = NO_ROW;

  get kindName(): string {
    return CALL_KIND_NAMES[this.kind]!;
  }

  get leftName(): string {
    return LEFT_NAMES[this.left]!;
  }

  /** NaN where either end has no time. */
  get durationTicks(): number {
    return this.leaveTicks - this.enterTicks;
  }
}
