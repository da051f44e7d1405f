export {
  type ItraceOptions,
  NO_ITRACE,
  parseItrace,
  REPORT_ITRACE,
  SCRIPT_ITRACE,
} from './itrace-options.ts';
export type { TraceErrorCount, TraceOutcome } from './trace-outcome.ts';
export { type RecordedMachine, type TraceRequest, type TraceSource, withTrace } from './trace-scan.ts';
