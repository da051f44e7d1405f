export { type DefaultsContext, defaultEvents, detailEvents } from './default-events.ts';
export { countOncePerPackage } from './event-kinds.ts';
export { type EventSum, type Measurement, subtractMeasurement } from './measurement.ts';
export { type DerivedMetric, deriveMetrics, type MetricInput, type MetricPeers } from './metrics.ts';
export {
  findMetric,
  groupText,
  type MetricGroup,
  NAMED_METRICS,
  type NamedMetric,
  sharedGroups,
} from './named-metrics.ts';
export { RecordedPlaces } from './recorded-places.ts';
export { type RecordedRuns, recordedRuns } from './recorded-runs.ts';
export type { Aggregation, RowOptions } from './row-options.ts';
export { type AggregatePlace, rememberThreadNames, rowsOf, type StatRow } from './rows.ts';
export { countRun, type RunResult, type StopReason, startsByExec, targetsOf } from './run.ts';
export type { RunOptions, RunStart, StatScope } from './run-options.ts';
export { type Spread, spreadOf, spreadPercent } from './spread.ts';
export { TOPDOWN_METRICS, topdownMetrics } from './topdown.ts';
export { type CpuPlace, recordedCpuPlace } from './topology.ts';
