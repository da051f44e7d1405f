import type { LossEntry } from '@counterpoint/core/loss';
import type { Note } from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import type { ExitStatus } from '../../kernel/target/index.ts';
import type { RecordOptions } from '../record/index.ts';

/** What to watch, how much of it to keep, and where to put it when it is asked for. */
export interface FlightOptions
  extends Pick<
    RecordOptions,
    | 'command'
    | 'pids'
    | 'tids'
    | 'systemWide'
    | 'cpus'
    | 'events'
    | 'frequency'
    | 'period'
    | 'callGraph'
    | 'callchains'
    | 'formats'
    | 'levels'
    | 'inherit'
    | 'clockId'
    | 'buildIds'
    | 'nodeNames'
    | 'launch'
    | 'commandGraceMs'
    | 'toolVersion'
    | 'commandLine'
  > {
  /** @internal */
  sys?: Sys;
  /**
   * What asks for a file, besides `dump()`: `loop-delay:500ms`, `function:FILE:NAME>50ms`, `event:EVENT[:N]`,
   * `field:SYSTEM:NAME:EXPR`, `psi:cpu:20%`, `exit`, `crash`, `every:60s`, `signal:USR2`.
   */
  on?: readonly string[];
  /**
   * Least milliseconds from the file of something that happened to the next one; default 10,000. Triggers in
   * between are counted. Files of `every:`, of a signal and of `dump()` do not wait.
   */
  minIntervalMs?: number;
  /** Called with each file that a trigger asked for. */
  onDump?: (dump: FlightDump) => void;
  /** Called where such a file could not be written. The recorder goes on. */
  onDumpError?: (error: Error, trigger: string) => void;
  /** How many milliseconds the history goes back, at most; default 30,000. */
  keepMs?: number;
  /** Memory of all rings together; default 64 MiB. What it holds of `keepMs` depends on the rate. */
  memoryBytes?: number;
  /** Where files go; default the working directory. It is made where it is not there. */
  directory?: string;
  /** What their names begin with; default `flight`. */
  prefix?: string;
  /** Keep N files, and remove the oldest of this recorder. Default: 16. */
  maxFiles?: number;
  /** Keep at most N bytes in files, but always the newest. Default: 1 GiB. */
  maxFileBytes?: number;
  /**
   * Files are histories of fixed-size records (`.history`), in the place of perf.data files: `openHistory`
   * reads one record with one read.
   */
  fixedSize?: boolean;
  /** Ends it; nothing is written because of it. */
  signal?: AbortSignal;
  /** Called when a note is added while it runs, with all of them. */
  onNote?: (notes: readonly Note[]) => void;
}

/** One history that was written. */
export interface FlightDump {
  /** Path of the file. */
  path: string;
  /** Which file of this recorder it is, from 1. */
  number: number;
  /** What asked for it. */
  trigger: string;
  /** When it was asked for, on the recording's clock, in nanoseconds. */
  atNs: bigint;
  /** When it was asked for, by the wall clock. */
  at: Date;
  /** Records of the history: samples, as a rule. */
  records: number;
  /** Samples among them. */
  samples: number;
  /** Size of the file. */
  bytes: number;
  /** From the first record to the last, in milliseconds. */
  spanMs: number;
  /** For how long the rings stood still, in milliseconds. */
  pausedMs: number;
  /** How long it took until the file was complete, in milliseconds. */
  writtenMs: number;
  /** What the file does not contain. */
  loss: LossEntry[];
  /** Triggers since the last file that came too soon after it. */
  suppressed: number;
  /** Files that had to go for it. */
  removed: string[];
}

/** What a flight recorder has done so far, and what it holds. */
export interface FlightStatus {
  /** How long it has been running, in milliseconds. */
  elapsedMs: number;
  /** How far back the ring goes that holds least, in milliseconds. */
  heldMs: number;
  /** Memory of all rings together. */
  ringBytes: number;
  /** Memory of results of sampling formats, compressed, and of samples that are read as they come. */
  formatBytes: number;
  /** Bytes per second that the events write, over the last seconds. */
  bytesPerSecond: number;
  /** How many processes it knows by name. */
  processes: number;
  /** How many files it has written. */
  dumps: number;
  /** Triggers that came too soon after a file. */
  suppressed: number;
}

/** Why a flight recorder ended. */
export interface FlightEnd {
  /**
   * What ended it: `stop()` or the signal, the end of the command, or the end of the last process or thread.
   */
  reason: 'stopped' | 'command-exited' | 'target-ended';
  /** How the command ended; null without one. */
  exit: ExitStatus | null;
}
