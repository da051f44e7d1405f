/** Branch records in one form: branch stacks of samples, BTS, decoded traces, single steps. */
export {
  type BranchFlags,
  branchFlagsOf,
  branchTypeName,
} from '../format/branches/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  BRANCH_FILTERS,
  branchFilterBits,
  branchFlagsWord,
  CALL_STACK_BITS,
} from '../format/branches/index.ts';
