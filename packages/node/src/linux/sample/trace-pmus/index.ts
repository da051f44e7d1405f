export { addressFilters } from './address-filter.ts';
export { armSpe } from './arm-spe.ts';
export { csEtm } from './cs-etm.ts';
export { intelBts } from './intel-bts.ts';
export { intelPt } from './intel-pt.ts';
export { type PlannedTrace, planTrace, traceSourceOf, withTraceFirst } from './plan-traces.ts';
export type { OpenTrace, TraceRequest, TraceSource } from './trace-source.ts';
