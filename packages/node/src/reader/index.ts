export { type ReaderEnd, type ReaderOptions, RingReader, type RoundSink } from './ring-reader.ts';
