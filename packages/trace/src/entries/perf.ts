/** The traces of a recording, as perf's `--itrace` asks for them: samples among the recorded ones. */
export {
  type DecodingLogOptions,
  type ItraceOptions,
  type PeriodUnit,
  parseItrace,
  type RecordedMachine,
  type TraceErrorCount,
  type TraceOutcome,
  type TraceRequest,
  type TraceSource,
  withTrace,
} from '../perf/samples/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  NO_ITRACE,
  REPORT_ITRACE,
  SCRIPT_ITRACE,
} from '../perf/samples/index.ts';
