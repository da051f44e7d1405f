import {
  PERF_SAMPLE_BRANCH_ABORT_TX,
  PERF_SAMPLE_BRANCH_ANY,
  PERF_SAMPLE_BRANCH_ANY_CALL,
  PERF_SAMPLE_BRANCH_ANY_RETURN,
  PERF_SAMPLE_BRANCH_CALL,
  PERF_SAMPLE_BRANCH_CALL_STACK,
  PERF_SAMPLE_BRANCH_COND,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_HV,
  PERF_SAMPLE_BRANCH_HW_INDEX,
  PERF_SAMPLE_BRANCH_IN_TX,
  PERF_SAMPLE_BRANCH_IND_CALL,
  PERF_SAMPLE_BRANCH_IND_JUMP,
  PERF_SAMPLE_BRANCH_KERNEL,
  PERF_SAMPLE_BRANCH_NO_CYCLES,
  PERF_SAMPLE_BRANCH_NO_FLAGS,
  PERF_SAMPLE_BRANCH_NO_TX,
  PERF_SAMPLE_BRANCH_PRIV_SAVE,
  PERF_SAMPLE_BRANCH_TYPE_SAVE,
  PERF_SAMPLE_BRANCH_USER,
} from '../abi/index.ts';

/**
 * Words of `branch_type=` and `-j`, by perf's names, and the bits of `attr.branch_sample_type`.
 *
 * @internal
 */
export const BRANCH_FILTERS: Readonly<Record<string, number>> = {
  u: PERF_SAMPLE_BRANCH_USER,
  k: PERF_SAMPLE_BRANCH_KERNEL,
  hv: PERF_SAMPLE_BRANCH_HV,
  any: PERF_SAMPLE_BRANCH_ANY,
  any_call: PERF_SAMPLE_BRANCH_ANY_CALL,
  any_ret: PERF_SAMPLE_BRANCH_ANY_RETURN,
  ind_call: PERF_SAMPLE_BRANCH_IND_CALL,
  ind_jmp: PERF_SAMPLE_BRANCH_IND_JUMP,
  cond: PERF_SAMPLE_BRANCH_COND,
  abort_tx: PERF_SAMPLE_BRANCH_ABORT_TX,
  in_tx: PERF_SAMPLE_BRANCH_IN_TX,
  no_tx: PERF_SAMPLE_BRANCH_NO_TX,
  call: PERF_SAMPLE_BRANCH_CALL,
  stack: PERF_SAMPLE_BRANCH_CALL_STACK,
  save_type: PERF_SAMPLE_BRANCH_TYPE_SAVE,
  no_flags: PERF_SAMPLE_BRANCH_NO_FLAGS,
  no_cycles: PERF_SAMPLE_BRANCH_NO_CYCLES,
  hw_index: PERF_SAMPLE_BRANCH_HW_INDEX,
  priv: PERF_SAMPLE_BRANCH_PRIV_SAVE,
  counter: PERF_SAMPLE_BRANCH_COUNTERS,
};

const LEVELS = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
/** What says more of branches, and chooses none. */
const SAVED =
  PERF_SAMPLE_BRANCH_TYPE_SAVE |
  PERF_SAMPLE_BRANCH_NO_FLAGS |
  PERF_SAMPLE_BRANCH_NO_CYCLES |
  PERF_SAMPLE_BRANCH_HW_INDEX |
  PERF_SAMPLE_BRANCH_PRIV_SAVE |
  PERF_SAMPLE_BRANCH_COUNTERS;

/**
 * The bits of these words, all of which are known. Without a kind of branch, any is meant. Without a level,
 * the kernel takes the event's own.
 *
 * @internal
 */
export function branchFilterBits(words: readonly string[]): number {
  const bits = words.reduce((all, word) => all | (BRANCH_FILTERS[word] ?? 0), 0);
  return (bits & ~LEVELS & ~SAVED) === 0 ? bits | PERF_SAMPLE_BRANCH_ANY : bits;
}

/**
 * Call chains out of branch records (`--call-graph lbr`), as perf asks for them.
 *
 * @internal
 */
export const CALL_STACK_BITS: number =
  PERF_SAMPLE_BRANCH_USER |
  PERF_SAMPLE_BRANCH_CALL_STACK |
  PERF_SAMPLE_BRANCH_NO_FLAGS |
  PERF_SAMPLE_BRANCH_NO_CYCLES |
  PERF_SAMPLE_BRANCH_HW_INDEX;
