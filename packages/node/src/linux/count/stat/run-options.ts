import type { Note } from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import type { LaunchOptions } from '../../kernel/target/index.ts';
import type { ControlRequest, CountingSession } from '../counting/index.ts';
import type { Measurement } from './measurement.ts';

/** Whose events are counted. A command beside another scope only says how long. */
export type StatScope =
  | { kind: 'command' }
  | { kind: 'processes'; pids: readonly number[] }
  | { kind: 'threads'; tids: readonly number[] }
  /** Every thread that there is when it begins, and what these start. */
  | { kind: 'all-threads' }
  | { kind: 'cpus'; cpus?: readonly number[]; cgroups?: readonly string[] };

/** Options of `countRun()`. */
export interface RunOptions {
  /** Whose events are counted. */
  scope: StatScope;
  /** The command, as words. Needed by the scope `command`; beside another scope it says how long to count. */
  command?: readonly string[];
  /** Environment, directory and standard streams of the command. */
  launch?: LaunchOptions;
  /** Null counts nothing: only the times are taken. */
  control: ControlRequest | null;
  /**
   * Count threads and processes that the target starts. Default: true, and false where an overflow suspends.
   */
  inherit?: boolean;
  /** Whose code is counted: the user's, the kernel's or both. Default: `all`. */
  levels?: 'all' | 'user' | 'kernel';
  /** Each group always has its counters, or is not counted at all. Default: false. */
  pinned?: boolean;
  /**
   * No other events use the PMU while a group of these counts; `require` also refuses a second user. Default:
   * false.
   */
  exclusive?: boolean | 'require';
  /** Begin so long after the command has started. */
  delayMs?: number;
  /** Begin when a session is started by hand (`onStart` hands them out), at once or later. */
  startDisabled?: boolean;
  /** End so long after the beginning. */
  timeoutMs?: number;
  /** Call `onInterval` so often, in milliseconds. Default: never. */
  intervalMs?: number;
  /** End after N intervals. */
  intervalCount?: number;
  /** Ends the run. One that is aborted already refuses it, before anything is started. */
  signal?: AbortSignal;
  /** @internal */
  sys?: Sys;
  /** What it returns is waited for before anything starts. */
  onStart?: (start: RunStart) => Promise<void> | void;
  /** What was counted since the last interval, and since the beginning. */
  onInterval?: (interval: Measurement, sofar: Measurement) => void;
}

/** What is known when a run begins. */
export interface RunStart {
  /** The sessions that count, one for each target. Start them by hand with `startDisabled`. */
  sessions: readonly CountingSession[];
  /** What was done otherwise than requested, and why. */
  notes: readonly Note[];
  /** The process of the command; null without one. */
  commandPid: number | null;
}
