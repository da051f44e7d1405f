export {
  FlatRules,
  type FlatTable,
  type UnwindOptions,
  withUnwoundStacks,
} from '../code/unwind/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  FLAT_RULE,
  FramelessCode,
  flattenInSteps,
  hasRawUserStacks,
} from '../code/unwind/index.ts';
