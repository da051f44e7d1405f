export type { Reader, ReaderEnd } from './reader.ts';
export { type ReaderOptions, RingReader, type RoundSink } from './ring-reader.ts';
export { type DrainedFile, ThreadReader } from './thread-reader.ts';
