/** Callers out of copies of user stacks (`--call-graph dwarf`). */
export { hasRawUserStacks, type UnwindOptions, withUnwoundStacks } from '../unwind/index.ts';
