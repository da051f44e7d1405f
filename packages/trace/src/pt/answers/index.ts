export { AddressHash } from './address-hash.ts';
export type { BranchTable } from './branch-table.ts';
export * from './calls/index.ts';
export * from './coverage/index.ts';
export {
  ExactProfile,
  type ExactTotals,
  type LeftOut,
  type ProfileColumns,
  type ProfileRoom,
} from './exact-profile.ts';
export { type HotRun, hotRuns } from './hot-runs.ts';
export { type AddressListener, streamInstructions } from './instruction-stream.ts';
export type { NodeCounts } from './node-counts.ts';
export { type ProfileAnswer, profileAnswer } from './profile-answer.ts';
export { profileTrace, type TraceProfile } from './profile-trace.ts';
export {
  type GraphEngines,
  type KnownEngine,
  type RunTraceOptions,
  type TraceListener,
  TraceRun,
  type TraceSummary,
} from './run-trace.ts';
export * from './tables/index.ts';
