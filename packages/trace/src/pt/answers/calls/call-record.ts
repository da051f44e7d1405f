import { CALL_KIND_NAMES, LEFT_NAMES } from './call-kinds.ts';

/** Instead of a row: no function, caller or path. */
export const NO_ROW = -1;

/** One call. Borrowed: overwritten by the next. Rows are rows of `CallTrace.addresses`. */
export class CallRecord {
  /** How it came about: `kindName` is its name. */
  kind = 0;
  /** How it ended: `leftName` is its name. 0 while it is open. */
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
  /** When it began: TSC ticks since `CallTrace.baseTsc`; NaN where there is no time. */
  enterTicks = Number.NaN;
  /** When it ended: TSC ticks since `CallTrace.baseTsc`; NaN where there is no time. */
  leaveTicks = Number.NaN;
  /** How far the clock may be from the truth when it began, in ticks; infinite where nothing bounds it. */
  enterErrorTicks = Number.POSITIVE_INFINITY;
  /** How far the clock may be from the truth when it ended, in ticks; infinite where nothing bounds it. */
  leaveErrorTicks = Number.POSITIVE_INFINITY;
  /** Instructions while it was open, with those of the calls inside it. */
  instructions = 0;
  /** Branches while it was open, with those of the calls inside it. */
  branches = 0;
  /** Instructions without those of the calls inside it. */
  ownInstructions = 0;
  /** NO_ROW, or the row of the call tree. */
  path: number = NO_ROW;

  /** `call`, `far`, `async`, `tail`, `root`, `untraced`, `entered`. */
  get kindName(): string {
    return CALL_KIND_NAMES[this.kind]!;
  }

  /** `open`, `return`, `late`, `unwound`, `elsewhere`, `lost`, `end`, `too-deep`. */
  get leftName(): string {
    return LEFT_NAMES[this.left]!;
  }

  /** NaN where either end has no time. */
  get durationTicks(): number {
    return this.leaveTicks - this.enterTicks;
  }
}
