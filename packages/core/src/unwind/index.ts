export { hasRawUserStacks } from '../perfdata/index.ts';
export { type UnwindOptions, withUnwoundStacks } from './unwound-stacks.ts';
