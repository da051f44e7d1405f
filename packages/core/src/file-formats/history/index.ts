export { HistoryFile, type HistoryRecord, openHistory } from './history-file.ts';
export { isHistory } from './is-history.ts';
export { writePerfDataOf } from './perf-data-of-history.ts';
export {
  type PieceWriter,
  type WriteHistoryOptions,
  type WrittenHistory,
  writeHistory,
} from './write-history.ts';
