/** Recordings of counts (`stat record`): rounds of sums, read and written. */
export {
  type CountsBy,
  type CountsConfig,
  type CountsEvent,
  type CountsRound,
  type CountsThread,
  type MeasuredCount,
  type MeasuredEvent,
  type RecordedCount,
  type RecordedCounts,
  readCounts,
} from '../file-formats/counts/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  roundOfCounts,
  startOfCounts,
} from '../file-formats/counts/index.ts';
