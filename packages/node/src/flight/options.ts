import type { LossEntry } from '@counterpoint/core/loss';
import type { Note } from '../perf-events/index.ts';
import type { RecordOptions } from '../record/index.ts';
import type { Sys } from '../sys/index.ts';
import type { ExitStatus } from '../target/index.ts';

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
   * What asks for a file, besides `dump()`: `signal:USR2`, `every:60s`, `event:EVENT[:N]`,
   * `field:SYSTEM:NAME:EXPR`, `psi:cpu:20%`, `exit`, `crash`.
   */
  on?: readonly string[];
  /**
   * From one file to the next, unless it is asked for by hand; default 10,000.
   * Triggers in between are counted.
   */
  minIntervalMs?: number;
  /** Called with each file that a trigger asked for. */
  onDump?: (dump: FlightDump) => void;
  /** Called where such a file could not be written. The recorder goes on. */
  onDumpError?: (error: Error, trigger: string) => void;
  /** How far back the history goes, at most; default 30,000. */
  keepMs?: number;
  /** Memory of all rings together; default 64 MiB. What it holds of `keepMs` depends on the rate. */
  memoryBytes?: number;
  /** Where files go; default the working directory. It is made where it is not there. */
  directory?: string;
  /** What their names begin with; default `flight`. */
  prefix?: string;
  /** Keep so many files, and remove the oldest of this recorder; default 16. */
  maxFiles?: number;
  /** Keep at most so many bytes in files, but always the newest; default 1 GiB. */
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
  /** From 1. */
  number: number;
  /** What asked for it. */
  trigger: string;
  /** When it was asked for: on the recording's clock, and on the wall. */
  atNs: bigint;
  /** When it was requested, by the wall clock. */
  at: Date;
  /** Records of the history: samples, as a rule. */
  records: number;
  /** Size of the file. */
  bytes: number;
  /** From the first record to the last, in milliseconds. */
  spanMs: number;
  /** For so long the rings stood still. */
  pausedMs: number;
  /** Until the file was complete. */
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
  /** How far back the ring goes that holds least. */
  heldMs: number;
  /** Of all rings. */
  ringBytes: number;
  /** Results of sampling formats, compressed. */
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
  /** Of the command. */
  exit: ExitStatus | null;
}
