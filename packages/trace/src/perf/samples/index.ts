export {
  type DecodingLogOptions,
  type ItraceOptions,
  NO_ITRACE,
  type PeriodUnit,
  parseItrace,
  REPORT_ITRACE,
  SCRIPT_ITRACE,
} from './itrace-options.ts';
export type { TraceErrorCount, TraceOutcome } from './trace-outcome.ts';
export type { RecordedMachine, TraceRequest } from './trace-request.ts';
export { type TraceSource, withTrace } from './trace-scan.ts';
