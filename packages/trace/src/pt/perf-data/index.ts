// Whole file: an entry cannot name what is left out of the published types.
export * from './pt-config.ts';
export * from './pt-info.ts';
export { type PtRecording, ptRecording, type TracedMapping, type TracedThread } from './pt-recording.ts';
