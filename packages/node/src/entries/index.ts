/// <reference types="node" preserve="true" />
/**
 * Counterpoint for Linux: record programs on the real kernel, open recordings, ask questions of them, count.
 * What is rarely needed has entries of its own: `counterpoint/counting`, `/stat`, `/self-monitoring`,
 * `/formats`, `/bpf`, `/events`, `/trace`.
 */
export { CounterpointError, FormatError } from '@counterpoint/core/base';
export { EXPORTS, findExport, lossLine, lossTotals } from '@counterpoint/core/export';
export { callTree, collectStats, offCpu, topFunctions } from '@counterpoint/core/query';
export {
  openRecording,
  type ProfileOptions,
  Recording,
  type RecordingLoopOptions,
  type RecordingOptions,
  type RecordingScriptOptions,
  type RecordingStatsOptions,
} from '../host/open/index.ts';
export {
  type ConnectOptions,
  type CountingRequest,
  type CountingSession,
  connect,
  openCounting,
  type RemoteSession,
} from '../linux/count/counting/index.ts';
export {
  type Counters,
  type CountersOptions,
  counters,
  type Measurement,
  measure,
} from '../linux/count/self-monitoring/index.ts';
export {
  countRun,
  type Measurement as RunMeasurement,
  type RowOptions,
  type RunOptions,
  type RunResult,
  rowsOf,
  type StatRow,
} from '../linux/count/stat/index.ts';
export type { Note, OpenPlan, OpenRow, SamplePart, SidebandPart } from '../linux/kernel/perf-events/index.ts';
export {
  type ExitStatus,
  type HeldCommand,
  type LaunchOptions,
  launchHeld,
  type SynthesisPart,
} from '../linux/kernel/target/index.ts';
export {
  OwnProfile,
  type OwnProfileOptions,
  profile,
  RunningProfile,
  startProfile,
} from '../linux/sample/profiler/index.ts';
export {
  type FormatChoice,
  type FormatResult,
  type LiveEnd,
  type LiveEvent,
  LiveProfile,
  type LiveProfileOptions,
  type LiveRecording,
  type LiveRefresh,
  type OutputSwitching,
  type PlannedFormat,
  planRecording,
  type RecordControl,
  type RecordOptions,
  type RecordProgress,
  type RecordResult,
  type RecordStart,
  type RecordStop,
  record,
  recordLive,
  type SoftCounts,
  type StopReason,
  WriteError,
} from '../linux/sample/record/index.ts';
