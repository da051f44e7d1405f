import type { PerfEventAttr } from '../records/index.ts';
import type { CountsBy } from './aggregation.ts';

/** A counter's sum since the beginning, at one place, with the kernel's two times. */
export interface RecordedCount {
  /** Index of the event. */
  event: number;
  /** -1: wherever the thread ran. */
  cpu: number;
  /** Index of the thread. */
  thread: number;
  value: bigint;
  enabledNs: bigint;
  runningNs: bigint;
}

/** What was read at one moment. */
export interface CountsRound {
  /** The end of a run; else of an interval. */
  isFinal: boolean;
  /** Since the run began. */
  timeNs: bigint;
  counts: RecordedCount[];
}

export interface CountsEvent {
  name: string;
  attr: PerfEventAttr;
  /** It was opened; else it was not supported. */
  isOpen: boolean;
  unit: string | null;
  /** The count times this is in `unit`. */
  scale: number;
}

export interface CountsThread {
  /** -1 is everybody. */
  tid: number;
  /** May be empty: perf knows it only with `--per-thread`. */
  name: string;
}

/** How it was counted. */
export interface CountsConfig {
  by: CountsBy;
  /** 0: without intervals. */
  intervalMs: number;
  /** Counts are to be scaled to the time for which they were wanted. */
  isScaled: boolean;
}

/** A recording of counts. */
export interface RecordedCounts extends CountsConfig {
  events: CountsEvent[];
  threads: CountsThread[];
  rounds: CountsRound[];
}
