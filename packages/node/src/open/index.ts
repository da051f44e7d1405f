export type { ProfileOptions, RecordingOptions } from './recording.ts';
export { openRecording, Recording } from './recording.ts';
