export type { ProfileOptions, RecordingOptions, RecordingScriptOptions } from './recording.ts';
export { openRecording, Recording } from './recording.ts';
