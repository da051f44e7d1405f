export type { CountsBy } from './aggregation.ts';
export { readCounts } from './read-counts.ts';
export type {
  CountsConfig,
  CountsEvent,
  CountsRound,
  CountsThread,
  RecordedCount,
  RecordedCounts,
} from './recorded-counts.ts';
export {
  type CountsStart,
  type MeasuredCount,
  type MeasuredEvent,
  roundOfCounts,
  startOfCounts,
} from './write-counts.ts';
