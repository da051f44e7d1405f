import type { ExecutionBlock, ExecutionCode } from './execution-code.ts';

/** Where execution goes: int32 halves. */
export interface NextStep {
  /** Low half of the address, as int32. */
  lo: number;
  /** High half. */
  hi: number;
  /** With STEP_ASYNC: where user code goes on after the event, low half. */
  resumeLo: number;
  /** High half. */
  resumeHi: number;
}

/** Answer of `ExecutionPath.next`: by the branch at the block's end, or straight on. */
export const STEP_ON = 0;
/**
 * Answer of `ExecutionPath.next`: the same, and then, before the next instruction, an
 * interrupt, exception or signal.
 */
export const STEP_ASYNC = 1;
/** Answer of `ExecutionPath.next`: the execution is over. */
export const STEP_END = 2;

/** Who decides where execution goes. */
export interface ExecutionPath {
  /** Fills in the first address. */
  start(code: ExecutionCode, step: NextStep): void;
  /**
   * `block` has run: fills in what comes next, and returns STEP_*. A block that stops (KIND_STOPS)
   * needs STEP_ASYNC or STEP_END.
   */
  next(block: ExecutionBlock, code: ExecutionCode, step: NextStep): number;
}
