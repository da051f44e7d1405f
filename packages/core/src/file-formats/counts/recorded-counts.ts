import type { PerfEventAttr } from '../../format/records/index.ts';
import type { CountsBy } from './aggregation.ts';

/** A counter's sum since the beginning, at one place, with the kernel's two times. */
export interface RecordedCount {
  /** Index of the event. */
  event: number;
  /** -1: wherever the thread ran. */
  cpu: number;
  /** Index of the thread. */
  thread: number;
  /** The count as it was read, not scaled to `enabledNs`. */
  value: bigint;
  /** How long the event was wanted, in nanoseconds. */
  enabledNs: bigint;
  /** How long it had a counter, in nanoseconds. */
  runningNs: bigint;
}

/** What was read at one moment. */
export interface CountsRound {
  /** Whether it was read at the end of the run; else at an interval. */
  isFinal: boolean;
  /** Nanoseconds since the run began. */
  timeNs: bigint;
  /** One for each event, thread and CPU that was read. */
  counts: RecordedCount[];
}

/** An event of a recording of counts. */
export interface CountsEvent {
  /** Its name, as it was requested. */
  name: string;
  /** Its attr (`struct perf_event_attr`). */
  attr: PerfEventAttr;
  /** It was opened; else it was not supported. */
  isOpen: boolean;
  /** The unit of the count times `scale`; null: a plain count. */
  unit: string | null;
  /** The count times this is in `unit`. */
  scale: number;
}

/** A thread of a recording of counts. */
export interface CountsThread {
  /** Its thread id; -1 stands for all threads, where CPUs were counted. */
  tid: number;
  /** May be empty: perf knows it only with `--per-thread`. */
  name: string;
}

/** How it was counted. */
export interface CountsConfig {
  /** What counts are shown by. */
  by: CountsBy;
  /** Milliseconds from one round to the next; 0: read at the end alone. */
  intervalMs: number;
  /** Counts are to be scaled to the time for which they were wanted. */
  isScaled: boolean;
}

/** A recording of counts. */
export interface RecordedCounts extends CountsConfig {
  /** The events, in the order in which they were opened. */
  events: CountsEvent[];
  /** The threads; one with tid -1 where CPUs were counted. */
  threads: CountsThread[];
  /** What was read, in order of time. */
  rounds: CountsRound[];
}
