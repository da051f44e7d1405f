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
  writePerfDataOf,
} from '../file-formats/history/index.ts';
