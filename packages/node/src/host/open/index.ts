export type {
  ProfileOptions,
  RecordingLoopOptions,
  RecordingOptions,
  RecordingScriptOptions,
  RecordingStatsOptions,
} from './recording.ts';
export { isOfThisMachine, openRecording, Recording } from './recording.ts';
