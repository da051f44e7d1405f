export * from './pt-info.ts';
export { type PtRecording, ptRecording, type TracedMapping, type TracedThread } from './pt-recording.ts';
