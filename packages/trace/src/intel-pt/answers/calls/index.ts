export { AddressTable } from './address-table.ts';
export * from './call-kinds.ts';
export { CallRecord, NO_ROW } from './call-record.ts';
export { type CallListener, CallTracker } from './call-tracker.ts';
export { CallTree } from './call-tree.ts';
export { type CallerLatency, Distribution, FunctionLatency } from './latency.ts';
export { CallTrace, type TraceCalls, type TraceCallsOptions } from './trace-calls.ts';
