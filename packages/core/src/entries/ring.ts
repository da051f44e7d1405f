/** The ring-buffer algorithm over plain memory. */
export {
  ForwardRing,
  type HistoryMemory,
  type HistoryRecords,
  HistoryRing,
  type LongChains,
  mappedHistory,
  mappedRing,
  RecordScan,
  type RecordTimes,
  type RecordVisitor,
  type RingMemory,
  type StoppedHistory,
  TimeRange,
} from '../format/ring/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  AuxDrain,
  AuxWriter,
  type MergedHistory,
  mappedAux,
  mergeHistories,
  RingWriter,
  requestAux,
  type WrittenMemory,
  writtenRing,
} from '../format/ring/index.ts';
