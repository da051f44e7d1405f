import type { NamedMetric } from './named-metrics.ts';
import type { CpuPlace } from './topology.ts';

/** What counts are added up over. */
export type Aggregation = 'all' | 'cpu' | 'core' | 'die' | 'socket' | 'node' | 'thread';

/** Options of `rowsOf()`. */
export interface RowOptions {
  /** What counts are added up over. */
  by: Aggregation;
  /** Metrics that were asked for, with the indices of their events. */
  named?: readonly { metric: NamedMetric; events: readonly number[] }[];
  /** Take the raw values, also where an event had no counter for some of the time. */
  unscaled?: boolean;
  /** Leave places out where nothing was counted. */
  hideIdle?: boolean;
  /** Where a CPU sits. Default: where it sits on this machine, now. */
  cpuPlace?: (cpu: number) => CpuPlace;
  /** What a thread is called. Default: its name on this machine, now. */
  threadName?: (tid: number) => string;
}
