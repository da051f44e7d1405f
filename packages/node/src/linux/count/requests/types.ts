import type { ToolEvent } from '@counterpoint/core/events';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';

/** Whose events are counted. */
export type CountingTarget =
  /** The calling thread. */
  | { kind: 'self' }
  /** All threads of the processes; with `inherit` the threads and children that they start from now on. */
  | { kind: 'processes'; pids: readonly number[] }
  /** These threads; with `inherit` the threads and children that they start from now on. */
  | { kind: 'threads'; tids: readonly number[] }
  /** A command that is held before its exec (`launchHeld`): the exec starts the counters. */
  | { kind: 'command'; pid: number }
  /** Everything that runs on the CPUs; all that are online where none are named. */
  | { kind: 'cpus'; cpus?: readonly number[] }
  /** The tasks of a control group, by its path under the mount of cgroup2 or the perf_event hierarchy. */
  | { kind: 'cgroup'; path: string; cpus?: readonly number[] };

/** What happens when an event has counted its period. */
export interface OverflowControl {
  /**
   * Counts until the first overflow. When an event goes on counting (`notify`) the kernel learns the restart
   * period a moment after the first overflow: the interval after that may be longer, never shorter.
   */
  initialPeriod: bigint;
  /** Counts from one overflow to the next. */
  restartPeriod: bigint;
  /** Each restart period is longer by a random number of these bits; 0 is none. */
  randomMask: bigint;
  /**
   * `notify` goes on counting. `suspend` stops the event at that very count, in the kernel, and with it the
   * group that it leads, until `resume()`.
   */
  action: 'notify' | 'suspend';
  /** Send a signal to this thread instead of a value to `overflows()`. */
  signal: { number: number; tid: number } | null;
}

/** The same as it is asked for, for an event by its name. */
export interface OverflowRequest {
  /** The event, by the name with which it is counted. */
  event: string;
  /** How many counts make one overflow: from 1 to 2^63 - 1. */
  period: bigint | number;
  /** `period` where it is absent. */
  initialPeriod?: bigint | number;
  /**
   * A random number of these bits (up to 32) is added to each period but the first, so that overflows do
   * not fall into step with the program. With `suspend` only: told a new period while it counts, the
   * kernel ends the old one at once.
   */
  randomMask?: number;
  /**
   * `notify` goes on counting; `suspend` stops the event and its group until `resume()`. Default: `notify`.
   */
  action?: 'notify' | 'suspend';
  /** Send this signal (signal(7)) to this thread. Default: none; the overflow is a value of `overflows()`. */
  signal?: { number: number; tid: number };
}

/** An event as it will be counted: plain data. */
export interface CountedEvent extends PlannedEvent {
  /** The unit of the count times `scale`, such as `Joules`; null: a plain count. */
  unit: string | null;
  /** The count times this is in `unit`. */
  scale: number;
  /** Measured here, not by the kernel. */
  tool: ToolEvent | null;
  /** Its group is broken up where the PMU cannot take it whole (modifier `W`). */
  weakGroup: boolean;
  /** What happens when it has counted its period; null: it only counts. */
  overflow: OverflowControl | null;
}

/** One perf_event_open that will be made. */
export interface CountingRow {
  /** Index of the event in its set. */
  event: number;
  /** Thread; 0 is the caller, -1 everybody; for a cgroup its descriptor stands here when it is opened. */
  task: number;
  /** -1 is wherever the task runs. */
  cpu: number;
  /** Index of the row of the group's leader for the same task and CPU. */
  leader: number | null;
}

/** Events that are counted at the same time. Of several sets of a session one is loaded at a time. */
export interface PlannedSet {
  /** The name of the set. */
  name: string;
  /** The events, in the order in which they are counted. */
  events: CountedEvent[];
  /** In the order in which they are opened. */
  rows: CountingRow[];
}

/** All that will be opened, as plain data. */
export interface CountingPlan {
  /** Whose events are counted. */
  target: CountingTarget;
  /** The event sets. One of them is loaded at a time. */
  sets: PlannedSet[];
}

/** What one or more counters gave: raw, with the kernel's two times. */
export interface Reading {
  /** What was counted, not scaled. */
  value: bigint;
  /** How long the event was wanted, in nanoseconds. Of a task, time in which it runs. */
  enabledNs: bigint;
  /** How long the event had a counter, in nanoseconds. */
  runningNs: bigint;
}

/** Whether there is a count: `not-counted` had no counter, `not-supported` cannot have one here. */
export type CountStatus = 'counted' | 'not-counted' | 'not-supported';

/** The reading of one place: a thread or a CPU. */
export interface PlaceCount extends Reading {
  /** The thread; -1 is every thread of the CPU. */
  task: number;
  /** The CPU; -1 is wherever the thread ran. */
  cpu: number;
}

/** What one event has counted, summed over its places. */
export interface EventCount extends Omit<Reading, 'value'> {
  /**
   * Raw, summed over the places. Null if it is not known: an event that is not supported, or that was
   * wanted and had no counter. 0 where it was not wanted yet.
   */
  value: bigint | null;
  /** What is counted in the end, such as `cycles:u` where `cycles` was asked for. */
  name: string;
  /** The name with which it was requested. */
  requestedName: string;
  /** Whether there is a count, and why not. */
  status: CountStatus;
  /** Why it is not counted or not supported. */
  reason: string | null;
  /**
   * The value for all of the time, from that for the time with a counter: `value *
   * enabled / running`, or null.
   */
  scaled: bigint | null;
  /**
   * 95 % bound of the error of `scaled`, ±, with what switches between sets may have hidden; 0 where it was
   * always counted, null where nothing is known about the rest.
   */
  errorBound: number | null;
  /** The unit of the value times `scale`, such as `Joules`; null: a plain count. */
  unit: string | null;
  /** The value times this is in `unit`. */
  scale: number;
  /** Index of the leader among the counts of the set, for members of a group. */
  leader: number | null;
  /** The reading of each thread or CPU, which the sums are made of. */
  places: PlaceCount[];
}

/** What one event set has counted. */
export interface SetCounts {
  /** The name of the set. */
  name: string;
  /** How often it was loaded. */
  timesLoaded: number;
  /** How long it was loaded, in nanoseconds. */
  loadedNs: bigint;
  /** An event that ends sets by its overflow stands in the first set alone, with the sum of all. */
  events: EventCount[];
}

/** The answer of a session: sums since its start or its last reset. */
export interface Counts {
  /** Marks the answer as counts. */
  type: 'counts';
  /** Version of this form. */
  version: 1;
  /** When the sums were read, on CLOCK_MONOTONIC, in nanoseconds. */
  timeNs: bigint;
  /** For how long the session was started, since it was opened or all sums were reset, in nanoseconds. */
  elapsedNs: bigint;
  /** The event sets, in the order in which they are loaded. */
  sets: SetCounts[];
}
