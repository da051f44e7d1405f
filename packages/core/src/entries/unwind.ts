export {
  FLAT_RULE,
  FlatRules,
  type FlatTable,
  FramelessCode,
  flattenInSteps,
  hasRawUserStacks,
  type UnwindOptions,
  type WantedBinary,
  withUnwoundStacks,
} from '../code/unwind/index.ts';
