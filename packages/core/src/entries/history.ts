/** Histories of fixed-size records: one record is one seek away. */
export {
  HistoryFile,
  type HistoryRecord,
  isHistory,
  openHistory,
  type PieceWriter,
  type WriteHistoryOptions,
  type WrittenHistory,
  writeHistory,
} from '../file-formats/history/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export { writePerfDataOf } from '../file-formats/history/index.ts';
