export {
  countSoft,
  refuseOtherRights,
  requireArchitecture,
  type SoftRequest,
  type SoftResult,
} from './count-soft.ts';
export { functionWay } from './function-stops.ts';
export type { SoftEventSampling, SoftKind, SoftTracing, SoftWay } from './messages.ts';
export { RowReader, type SoftSample, type SoftTracePiece } from './rows.ts';
export type { SoftCounts } from './soft-counts.ts';
export { countOf, parseSoftEvents, type SoftEvent } from './soft-events.ts';
export { SOFT_PT_TYPE, softKindOf, softTracingOf, withSoftPmus } from './soft-pmu.ts';
export { startTracer, type Tracer } from './tracer.ts';
