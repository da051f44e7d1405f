/**
 * Decode a hardware trace anywhere: that of a recording (`withTrace`), or a raw one beside its code
 * (`profileTrace`, `CallTrace`). What is rarely needed has an entry of its own:
 * `@counterpoint/trace/intel-pt` (packets, events, coverage, encoding), `/perf`, `/image`,
 * `/instructions`, `/intel-pt-text`.
 */
export { addElf, CodeImage } from '../code/image/index.ts';
export {
  type ItraceOptions,
  parseItrace,
  type TraceOutcome,
  type TraceRequest,
  type TraceSource,
  withTrace,
} from '../perf/samples/index.ts';
export {
  type CallListener,
  type CallRecord,
  CallTrace,
  CodeFunctions,
  dumpPackets,
  profileInParts,
  profileOfCalls,
  profileOfExact,
  profileTrace,
  type RunTraceOptions,
  streamInstructions,
  type TraceCalls,
  type TraceProfile,
  webPartWorker,
} from '../pt/index.ts';
