/**
 * Counterpoint for Linux: record programs on the real kernel, open recordings, ask questions of them.
 * Everything of `@counterpoint/core` is here too.
 */
export * from '@counterpoint/core';
export * from './bpf/index.ts';
export * from './counting/index.ts';
export * from './open/index.ts';
export { readCpuIdentities, useEventTables } from './pmu/index.ts';
export * from './record/index.ts';
export * from './sampling/index.ts';
export * from './self-monitoring/index.ts';
export {
  type Aggregation,
  countRun,
  type Measurement as RunMeasurement,
  type RunOptions,
  type RunResult,
  rowsOf,
  type StatRow,
  type StatScope,
} from './stat/index.ts';
export { type ExitStatus, type HeldCommand, type LaunchOptions, launchHeld } from './target/index.ts';
export { partWorkers, threadPartWorker, workersFor } from './trace/index.ts';
