export type {
  RecordOptions,
  RecordProgress,
  RecordResult,
  RecordStart,
  StopReason,
} from './options.ts';
export { planRecording } from './plan.ts';
export { type LiveRecording, record, recordLive } from './record.ts';
export { WriteError } from './write-error.ts';
