import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
} from '@counterpoint/trace/instructions';
import type { NextInstruction } from './next-instruction.ts';

/**
 * What a target has executed, of all its threads and children. Plain data: it goes between processes as JSON.
 */
export interface SoftCounts {
  /** That were completed; and system calls that did not return. */
  instructions: number;
  /**
   * As instructions, but each step of a repeated string instruction counts; `null` where these are not seen.
   */
  iterations: number | null;
  /** Jumps, calls and returns, taken or not. */
  branches: number;
  /** Conditional jumps, taken or not. */
  conditional: number;
  /** Calls of functions. */
  calls: number;
  /** Instructions that could not be read, so it is not known whether they were branches. */
  unreadable: number;
  /** Threads and processes that were stepped. */
  threads: number;
}

export function emptyCounts(): SoftCounts {
  return { instructions: 0, iterations: 0, branches: 0, conditional: 0, calls: 0, unreadable: 0, threads: 0 };
}

/** Kinds that count as branches. */
export const BRANCHES: ReadonlySet<number> = /* @__PURE__ */ new Set([
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
]);

/**
 * A step of `instruction` is done, and the thread stands at `pc`. Whether the
 * instruction is complete with it.
 */
export function countStep(counts: SoftCounts, instruction: NextInstruction, pc: number): boolean {
  if (counts.iterations !== null) counts.iterations++;
  // The same address again: it goes on. What is executed in between, such as a signal's handler, is not it.
  if (instruction.isRepeated && pc === instruction.pc) return false;
  counts.instructions++;
  if (!instruction.isKnown) counts.unreadable++;
  const { kind } = instruction;
  if (!BRANCHES.has(kind)) return true;
  counts.branches++;
  if (kind === KIND_CONDITIONAL) counts.conditional++;
  if (kind === KIND_CALL || kind === KIND_CALL_INDIRECT) counts.calls++;
  return true;
}
