export type { LayoutOf, RecordOrBytes } from './encode-records.ts';
export { encodeRecords, layoutByEvent } from './encode-records.ts';
export type { FilePlan } from './file-writer.ts';
export { finishFile, headerWithoutFeatures, planFile, unfinishedHeader } from './file-writer.ts';
export { lossEntryRecord } from './loss-records.ts';
export { pipeStart } from './pipe-writer.ts';
export type { PerfDataContents } from './write-perf-data.ts';
export { writePerfData } from './write-perf-data.ts';
export type { WrittenEvent } from './written-event.ts';
