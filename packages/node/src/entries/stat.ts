/// <reference types="node" preserve="true" />
/** One run of a target and its counts as rows: places, spread of runs, derived metrics. */
export type { ControlRequest, CountingSession, CountStatus, EventCount } from '../counting/index.ts';
export type { Note } from '../perf-events/index.ts';
export {
  type AggregatePlace,
  type Aggregation,
  type CpuPlace,
  countRun,
  type DerivedMetric,
  deriveMetrics,
  type EventSum,
  findMetric,
  type Measurement,
  type MetricGroup,
  type MetricInput,
  type MetricPeers,
  NAMED_METRICS,
  type NamedMetric,
  type RowOptions,
  type RunOptions,
  type RunResult,
  type RunStart,
  rowsOf,
  type Spread,
  type StatRow,
  type StatScope,
  type StopReason,
  spreadOf,
} from '../stat/index.ts';
export type { ProcessTimes } from '../sys/index.ts';
export type { ExitStatus, LaunchOptions } from '../target/index.ts';
