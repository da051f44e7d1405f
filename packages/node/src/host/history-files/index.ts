export { type Converted, type ConvertOptions, convertRecording } from './convert.ts';
export { openHistory } from './open-history.ts';
export { recordingOfHistory } from './recording-of-history.ts';
