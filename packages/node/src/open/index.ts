export type {
  ProfileOptions,
  RecordingOptions,
  RecordingScriptOptions,
  RecordingStatsOptions,
} from './recording.ts';
export { openRecording, Recording } from './recording.ts';
