export {
  FLAT_RULE,
  FlatRules,
  type FlatTable,
  flattenInSteps,
  hasRawUserStacks,
  type UnwindOptions,
  withUnwoundStacks,
} from '../unwind/index.ts';
