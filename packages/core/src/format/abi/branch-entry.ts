/**
 * The third word of `struct perf_branch_entry` (include/uapi/linux/perf_event.h), from the lowest bit:
 *
 *     mispred:1 predicted:1 in_tx:1 abort:1 cycles:16 type:4 spec:2 new_type:4 priv:3
 *
 * A big-endian machine puts the first field in the highest bit. Readers turn
 * that around: see `branchFlagsFrom` in `records`.
 */

/** @internal The target was mispredicted. */
export const BRANCH_MISPREDICTED = 1 << 0;
/** @internal The target was predicted. Neither bit: the hardware does not say. */
export const BRANCH_PREDICTED = 1 << 1;
/** @internal Within a memory transaction. */
export const BRANCH_IN_TRANSACTION = 1 << 2;
/** @internal The branch is the abort of a transaction. */
export const BRANCH_ABORT = 1 << 3;
/** @internal Cycles since the branch before. */
export const BRANCH_CYCLES_SHIFT = 4;
/** @internal Mask of the cycles after the shift; a count that does not fit stops there. */
export const BRANCH_CYCLES_MASK = 0xffff;
/** @internal Kind of branch: PERF_BR_*. */
export const BRANCH_TYPE_SHIFT = 20;
/** @internal What is known of speculation: PERF_BR_SPEC_*. */
export const BRANCH_SPECULATION_SHIFT = 24;
/** @internal More kinds, where the type is PERF_BR_EXTEND_ABI: PERF_BR_NEW_*. */
export const BRANCH_NEW_TYPE_SHIFT = 26;
/** @internal Bit 30 of the word, and the two after it: at which privilege the branch went on, PERF_BR_PRIV_*. */
export const BRANCH_PRIVILEGE_SHIFT = 30;
/** @internal */
export const PERF_BR_UNKNOWN = 0;
/** @internal */
export const PERF_BR_COND = 1;
/** @internal */
export const PERF_BR_UNCOND = 2;
/** @internal */
export const PERF_BR_IND = 3;
/** @internal */
export const PERF_BR_CALL = 4;
/** @internal */
export const PERF_BR_IND_CALL = 5;
/** @internal */
export const PERF_BR_RET = 6;
/** @internal */
export const PERF_BR_SYSCALL = 7;
/** @internal */
export const PERF_BR_SYSRET = 8;
/** @internal */
export const PERF_BR_COND_CALL = 9;
/** @internal */
export const PERF_BR_COND_RET = 10;
/** @internal */
export const PERF_BR_ERET = 11;
/** @internal */
export const PERF_BR_IRQ = 12;
/** @internal */
export const PERF_BR_SERROR = 13;
/** @internal */
export const PERF_BR_NO_TX = 14;
/** @internal The kind stands in the field of new types. */
export const PERF_BR_EXTEND_ABI = 15;

/** @internal perf's names of PERF_BR_*, by number; `N/A` where the hardware does not say. */
export const BRANCH_TYPE_NAMES = [
  'N/A',
  'COND',
  'UNCOND',
  'IND',
  'CALL',
  'IND_CALL',
  'RET',
  'SYSCALL',
  'SYSRET',
  'COND_CALL',
  'COND_RET',
  'ERET',
  'IRQ',
  'SERROR',
  'NO_TX',
] as const;

/** @internal perf's names of PERF_BR_NEW_*, by number. */
export const BRANCH_NEW_TYPE_NAMES = [
  'FAULT_ALGN',
  'FAULT_DATA',
  'FAULT_INST',
  'ARCH_1',
  'ARCH_2',
  'ARCH_3',
  'ARCH_4',
  'ARCH_5',
] as const;

/** @internal Names of PERF_BR_SPEC_*, by number. */
export const BRANCH_SPECULATION_NAMES = [
  'NA',
  'SPEC_WRONG_PATH',
  'NON_SPEC_CORRECT_PATH',
  'SPEC_CORRECT_PATH',
] as const;

/** @internal Names of PERF_BR_PRIV_*, by number. */
export const BRANCH_PRIVILEGE_NAMES = ['unknown', 'user', 'kernel', 'hypervisor'] as const;
