export { WriteError } from '../../../host/files/index.ts';
export type { SoftCounts } from '../../stepping/softpmu/index.ts';
export { BuildIdCollector } from './build-ids.ts';
export { closingRecords } from './closing-records.ts';
export { endOfCommand, tellToEnd } from './command-end.ts';
export { FileOutput } from './file-output.ts';
export {
  type ChosenFormat,
  chooseFormats,
  clockedBy,
  eventsFor,
  eventsOfFormats,
  formatRequests,
  formatTarget,
  prepareEvents,
} from './format-events.ts';
export { FormatRecording, type FormatResult } from './format-recording.ts';
export { framesFor } from './frames-for.ts';
export { JavascriptFrames } from './javascript-frames.ts';
export { type Launched, launch } from './launch.ts';
export { layoutFinder } from './layout-finder.ts';
export type { LiveEnd, LiveProfileOptions, LiveRefresh } from './live/live-options.ts';
export { type LiveEvent, LiveProfile } from './live/live-profile.ts';
export { machineFeatures } from './machine-features.ts';
export { MapWatch } from './map-watch.ts';
export { NamelessCode, processWithMadeCode } from './nameless-code.ts';
export { openForScope } from './open-scope.ts';
export { recordingOptionTable } from './option-tables.ts';
export type {
  FormatChoice,
  OutputSwitching,
  RecordControl,
  RecordOptions,
  RecordProgress,
  RecordResult,
  RecordStart,
  RecordStop,
  StopReason,
} from './options.ts';
export type { RecordingOutput } from './output.ts';
export { PerfMapKeeper } from './perf-maps.ts';
export { type PlannedFormat, planRecording } from './plan.ts';
export { type LiveRecording, outputFor, record, recordLive } from './record.ts';
export { recordingFeatures, writtenEvents } from './recording-features.ts';
export { openTarget, processesOf, resolveEvents, type Scope, samplingOptions, scopeOf } from './request.ts';
export { ringBytesPerSecond, ringPages } from './ring-size.ts';
export { refuseSoftEvents } from './soft-plan.ts';
export { FINISHED_INIT, type SynthesisTarget, synthesizeMachine, synthesizeWatched } from './synthesis.ts';
export { MOST_COMPRESSION_LEVEL } from './zstd-compressor.ts';
