/// <reference types="node" preserve="true" />
/** One run of a target and its counts as rows: places, spread of runs, derived metrics. */
export type {
  ControlRequest,
  CountingSession,
  CountStatus,
  EventCount,
} from '../linux/count/counting/index.ts';
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
} from '../linux/count/stat/index.ts';
export type { Note } from '../linux/kernel/perf-events/index.ts';
export type { ProcessTimes } from '../linux/kernel/sys/index.ts';
export type {
  ExitStatus,
  LaunchOptions,
} from '../linux/kernel/target/index.ts';
