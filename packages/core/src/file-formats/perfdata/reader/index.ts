export type { Chunk, ChunkPool, ChunkSource } from './chunk-source.ts';
export {
  type DirectoryPart,
  type DirectorySource,
  directorySource,
  isRecordingFile,
  type RecordingFile,
  type UnreadableFile,
} from './directory-source.ts';
export type { RecordedEvent } from './event-table.ts';
export { EventTable, hasMonotonicTimes, hasRawUserStacks, mayHoldTrace } from './event-table.ts';
export type { FileAttr } from './file-header.ts';
export { LossCollector, lossAtEnd } from './loss-collector.ts';
export type { MissingFiles, MissingRing } from './missing-files.ts';
export type { OrderedRecord } from './read-records.ts';
export { readRecords } from './read-records.ts';
export type { OpenOptions, RecordSink, ScanOptions } from './reader.ts';
export { openPerfData, PerfDataReader } from './reader.ts';
export type { AddedRecords, RecordSource, SourceScanOptions } from './record-source.ts';
export { checkRecordSource, checkScanOptions } from './record-source.ts';
export type { OnSample, OnSampleParts } from './sample-stream.ts';
export { relativeNs, SampleStream } from './sample-stream.ts';
export type { ZstdFactory, ZstdStream } from './zstd.ts';
