import type { ControlRequest, CountingSession } from '../counting/index.ts';
import type { Note } from '../perf-events/index.ts';
import type { Sys } from '../sys/index.ts';
import type { LaunchOptions } from '../target/index.ts';
import type { Measurement } from './measurement.ts';

/** Whose events are counted. A command beside another scope only says how long. */
export type StatScope =
  | { kind: 'command' }
  | { kind: 'processes'; pids: readonly number[] }
  | { kind: 'threads'; tids: readonly number[] }
  /** Every thread that there is when it begins, and what these start. */
  | { kind: 'all-threads' }
  | { kind: 'cpus'; cpus?: readonly number[]; cgroups?: readonly string[] };

export interface RunOptions {
  scope: StatScope;
  command?: readonly string[];
  launch?: LaunchOptions;
  /** Null counts nothing: only the times are taken. */
  control: ControlRequest | null;
  inherit?: boolean;
  levels?: 'all' | 'user' | 'kernel';
  pinned?: boolean;
  exclusive?: boolean | 'require';
  /** Begin so long after the command has started. */
  delayMs?: number;
  /** Begin when a session is started by hand (`onStart` hands them out), at once or later. */
  startDisabled?: boolean;
  /** End so long after the beginning. */
  timeoutMs?: number;
  intervalMs?: number;
  /** End after so many intervals. */
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

export interface RunStart {
  sessions: readonly CountingSession[];
  notes: readonly Note[];
  commandPid: number | null;
}
