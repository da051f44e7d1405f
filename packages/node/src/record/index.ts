export { WriteError } from '../files/index.ts';
export type { FormatResult } from './format-recording.ts';
export type { LiveEnd, LiveProfileOptions, LiveRefresh } from './live/live-options.ts';
export { type LiveEvent, LiveProfile } from './live/live-profile.ts';
export { machineFeatures } from './machine-features.ts';
export type {
  FormatChoice,
  RecordOptions,
  RecordProgress,
  RecordResult,
  RecordStart,
  RecordStop,
  StopReason,
} from './options.ts';
export type { RecordingOutput } from './output.ts';
export { type PlannedFormat, planRecording } from './plan.ts';
export { type LiveRecording, outputFor, record, recordLive } from './record.ts';
