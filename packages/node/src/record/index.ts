export type {
  RecordOptions,
  RecordProgress,
  RecordResult,
  RecordStart,
  StopReason,
} from './options.ts';
export { type LiveRecording, record, recordLive } from './record.ts';
export { WriteError } from './write-error.ts';
