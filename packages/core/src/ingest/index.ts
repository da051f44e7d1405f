export type { Binaries, KnownBinary } from './binaries.ts';
export type { IngestOptions, IngestResult, SampleTexts } from './ingest.ts';
export { contentNotes, ingestPerfData, kernelNotes } from './ingest.ts';
export { RunningProfile } from './running-profile.ts';
export type { SampleFilter, TimeRange } from './sample-filter.ts';
export { SampleWalker, WalkedSample } from './sample-walker.ts';
export { SymbolResolver } from './symbol-resolver.ts';
export { isScheduling } from './tracing-machinery.ts';
