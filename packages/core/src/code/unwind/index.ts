export { hasRawUserStacks } from '../../file-formats/perfdata/index.ts';
export { FLAT_RULE, FlatRules } from './flat-rules.ts';
export { type FlatTable, flattenInSteps } from './flat-table.ts';
export { FramelessCode } from './frameless-code.ts';
export type { WantedBinary } from './unwind-binary.ts';
export { type UnwindOptions, withUnwoundStacks } from './unwound-stacks.ts';
