export type {
  ProfileOptions,
  RecordingLoopOptions,
  RecordingOptions,
  RecordingScriptOptions,
  RecordingStatsOptions,
} from './recording.ts';
export { openRecording, Recording } from './recording.ts';
