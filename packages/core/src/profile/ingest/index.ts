export type { Binaries, KnownBinary } from './binaries.ts';
export type { CodeFile } from './binary-code.ts';
export { BinaryCode } from './binary-code.ts';
// The whole file: what is left out of the published types cannot be named here.
export * from './branch-collector.ts';
export type { FramelessFunctions, IngestOptions, IngestResult, SamplePlaces, SampleTexts } from './ingest.ts';
export { contentNotes, ingestPerfData, kernelNotes } from './ingest.ts';
export { NativeSources } from './native-sources.ts';
export { RunningProfile } from './running-profile.ts';
export type { SampleFilter, TimeRange } from './sample-filter.ts';
export { SampleWalker, WalkedSample } from './sample-walker.ts';
export { isUserFrame } from './stack-uses.ts';
export { SymbolResolver } from './symbol-resolver.ts';
export { isScheduling } from './tracing-machinery.ts';
export { waitingForDumps } from './waiting-for-dumps.ts';
