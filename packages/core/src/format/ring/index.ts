// Whole files: an entry cannot name what is left out of the published types.
export * from './aux-area.ts';
export * from './aux-drain.ts';
export * from './aux-snapshots.ts';
export * from './aux-writer.ts';
export { ForwardRing } from './forward-ring.ts';
export type { HistoryMemory, HistoryRecords, RecordTimes } from './history-ring.ts';
export { HistoryRing, mappedHistory } from './history-ring.ts';
export type { MergedHistory, StoppedHistory } from './merge-histories.ts';
export { mergeHistories } from './merge-histories.ts';
export type { LongChains, RecordVisitor } from './record-scan.ts';
export { RecordScan, TimeRange } from './record-scan.ts';
export type { RingMemory } from './ring-memory.ts';
export { mappedRing } from './ring-memory.ts';
export * from './ring-writer.ts';
