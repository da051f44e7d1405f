export { flagsText } from './branch-flags.ts';
export {
  type ItraceOptions,
  NO_ITRACE,
  parseItrace,
  REPORT_ITRACE,
  SCRIPT_ITRACE,
} from './itrace-options.ts';
export { TYPE_SYNTHETIC } from './synthetic-events.ts';
export { readExtra, type SampleExtra } from './synthetic-sample.ts';
export { ERROR_OVERFLOW } from './trace-errors.ts';
export { scanWithTrace, type TraceErrorCount, type TraceOutcome, type TraceRequest } from './trace-scan.ts';
