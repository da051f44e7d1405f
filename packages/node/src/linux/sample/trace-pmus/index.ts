export { addressFilters } from './address-filter.ts';
export { intelPt } from './intel-pt.ts';
export { type PlannedTrace, planTrace, traceSourceOf, withTraceFirst } from './plan-traces.ts';
export type { OpenTrace, TraceRequest, TraceSource } from './trace-source.ts';
