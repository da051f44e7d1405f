import type { ParsedEvent } from '@counterpoint/core/events';
import type { LossEntry } from '@counterpoint/core/loss';
import type { Note, SamplePart, SidebandPart } from '../perf-events/index.ts';
import type { SamplingFormat } from '../sampling/index.ts';
import type { Sys } from '../sys/index.ts';
import type { LaunchOptions } from '../target/index.ts';
import type { FormatResult } from './format-recording.ts';

/** What to record, and how. Names and defaults are those of `perf record` where it has them. */
export interface RecordOptions {
  /** Run this, and record it and its children; or, with another target, record that while this runs. */
  command?: readonly string[];
  /** Running processes, with all their threads. */
  pids?: readonly number[];
  /** Running threads. */
  tids?: readonly number[];
  /** Everything that runs on any CPU. */
  systemWide?: boolean;
  /** Everything that runs on these CPUs. */
  cpus?: readonly number[];

  /** Event names as `-e` takes them, or parsed events. Default: cycles, or cpu-clock where there are none. */
  events?: string | readonly string[] | readonly ParsedEvent[];
  /** Samples per second of each thread or CPU; default 4000. `max` is what the kernel allows. */
  frequency?: number | 'max';
  /** A sample each so many events; instead of a frequency. */
  period?: number | bigint;
  /**
   * Record who called whom: by frame pointers (`true`, `fp`), or by copies of the user's stack (`dwarf`) that
   * are unwound when the recording is read. Most binaries of distributions have no frame pointers.
   */
  callGraph?: boolean | 'fp' | 'dwarf';
  /** With `callGraph: 'dwarf'`: bytes of the stack to copy, 8 to 65528; default 8192. */
  userStackBytes?: number;
  /**
   * What samples carry beside the usual: the address of the data and its source (`data-address`), its
   * `physical-address`, page sizes, `weight`, `transaction`, `raw` data, `cpu`, `period`, `cgroup`.
   */
  sampleParts?: readonly SamplePart[];
  /** Records beside samples: context `switches`, changes of `namespaces`, names of `cgroups`. */
  sideband?: readonly SidebandPart[];
  /** Registers where the event happened, by their names in perf (`ax`, `x0`); `all`. */
  interruptRegisters?: readonly string[] | 'all';
  /** Registers of user space at the time of a sample. */
  userRegisters?: readonly string[] | 'all';
  /**
   * For the entry of `events` at the same place: what a tracepoint's fields must be (`prev_pid == 1`); null:
   * no filter. Of an entry that names several events it holds for the last one, or all that a pattern names.
   */
  filters?: readonly (string | null)[];
  /** Which part of call chains. */
  callchains?: 'both' | 'user' | 'kernel';
  /** Leave the kernel or the user's code out. */
  levels?: 'all' | 'user' | 'kernel';
  /** Follow children and new threads; default true. */
  inherit?: boolean;
  /** A clock of clock_gettime(2) for the times, such as 1 for CLOCK_MONOTONIC. */
  clockId?: number;
  /**
   * Record what `Recording.eventLoops` asks for: the waits of event loops, the moments in which threads leave
   * their CPU, and samples of a clock with call chains, 999 each second. `events` replaces the samples.
   */
  eventLoops?: boolean;
  /**
   * What happens at an overflow, instead of the kernel's own record: sampling formats by name
   * with options (`histogram,max-entries=100k`), by the path of a module, or as objects. Each has
   * its own copies of the events.
   */
  formats?: readonly (string | FormatChoice)[];
  /**
   * Pages of each CPU's buffer, rounded up to a power of two. Default: 2 MiB, or more at high rates, as
   * far as the user may lock it.
   */
  mmapPages?: number;

  /**
   * What empties the buffers runs before everything else (SCHED_FIFO, 1 to 99), for loaded machines. For
   * files without sampling formats; needs CAP_SYS_NICE or a limit of RLIMIT_RTPRIO.
   */
  realtimePriority?: number;

  /**
   * Path of the file, or `-` for a stream on standard output. Default `perf.data`;
   * what is there becomes `.old`.
   */
  output?: string;
  /**
   * Memory for what a pipe does not take yet; default 64 MiB. Beyond it the kernel's buffers fill, and what
   * they cannot store is counted. Files need none: the kernel holds what a disk has not taken.
   */
  bufferBytes?: number;
  /** Begin so many milliseconds after the target. */
  delayMs?: number;
  /** Stop when the output has this size. */
  maxSizeBytes?: number;
  /** Store build ids of the mapped files; default true. */
  buildIds?: boolean;
  /**
   * Let Node programs write the names of JavaScript functions for profilers, with V8's flags in NODE_OPTIONS:
   * for commands that are Node (`auto`, the default), always, or never.
   */
  nodeNames?: 'auto' | boolean;
  /**
   * Leave `/tmp/perf-PID.map` of the command's processes, which perf reads. They are removed otherwise: the
   * names are in the recording.
   */
  keepPerfMaps?: boolean;
  /** Environment, directory and standard streams of the command. */
  launch?: LaunchOptions;

  /** Ends the recording; the result is complete. */
  signal?: AbortSignal;
  /** Called every `progressIntervalMs` while it records. */
  onProgress?: (progress: RecordProgress) => void;
  /** Milliseconds between two calls of `onProgress`. Default: 200. */
  progressIntervalMs?: number;
  /** Called once, when everything is open and the target runs. */
  onStart?: (start: RecordStart) => void;
  /** Called when a note is added while it records, with all of them. */
  onNote?: (notes: readonly Note[]) => void;
  /** The output is a named pipe that nobody reads yet: recording begins when somebody does. */
  onWaitForReader?: (path: string) => void;
  /** Called once, when the counters are stopped: sampling formats may take their time with what is left. */
  onStop?: (stop: RecordStop) => void;
  /**
   * When the recording ends before its command does, the command gets SIGTERM. One that has not ended
   * after so many ms is left running, with a note; default 5000, Infinity waits for it. Where the
   * output takes no more (a full disk), the command is let go on: a note says so, and the result comes
   * when it ends, or `signal` ends it.
   */
  commandGraceMs?: number;
  /** Read the rings at least this often; default 200. */
  flushIntervalMs?: number;
  /** What the file says of the tool that made it. */
  toolVersion?: string;
  /** What the file says of the command line that made it. Default: words made of the target. */
  commandLine?: readonly string[];
  /** @internal */
  sys?: Sys;
}

/** A sampling format with its options. */
export interface FormatChoice {
  /** The name of a built-in format, the path of a module, or the format itself. */
  format: string | SamplingFormat;
  /** By the names of the format's option table. */
  options?: Readonly<Record<string, unknown>>;
}

/** How far a recording is. */
export interface RecordProgress {
  /** Milliseconds since it was enabled. */
  elapsedMs: number;
  /** Samples so far. */
  samples: number;
  /** Size of the output. */
  bytes: number;
  /** Records that the kernel could not store: samples, and those of mappings, forks and exits. */
  lostRecords: bigint;
}

/** What is known when a recording begins. */
export interface RecordStart {
  /** Events in the end, with the names that the file has, and how many descriptors each takes. */
  events: { requestedName: string; name: string; descriptors: number }[];
  /** A ring per CPU, each of this size. */
  rings: { cpus: number[]; sizeBytes: number };
  /** What was done otherwise than requested, and why. */
  notes: readonly Note[];
  /** Of the command, where there is one. */
  pid: number | null;
}

/** What is known when a recording stops. */
export interface RecordStop {
  /** The names of formats whose `collect` has not ended by now. */
  unfinishedFormats(): readonly string[];
}

/** Why a recording ended. */
export type StopReason = 'command-exited' | 'target-ended' | 'aborted' | 'size-limit' | 'write-error';

/** What a recording came to. */
export interface RecordResult {
  /** Path of the file, or `-`. */
  path: string;
  /** Why it ended. */
  stopped: StopReason;
  /** How many samples the file has. */
  samples: number;
  /** Size of the output. */
  bytes: number;
  /** How often there was enough data to be woken for. */
  wakeups: number;
  /** What the file does not contain: its ledger. */
  loss: LossEntry[];
  /**
   * Of the command as a shell shows it (128 + n for a signal); null without a command, or while it goes on.
   */
  exitCode: number | null;
  /** The signal that ended the command; null without one. */
  exitSignal: NodeJS.Signals | null;
  /** What was done otherwise than requested, and why. */
  notes: Note[];
  /**
   * `lostSamples`: the kernel's count, with records of mappings, forks and exits of that
   * event; null where it keeps none.
   */
  events: { requestedName: string; name: string; lostSamples: bigint | null }[];
  /** What sampling formats came to. */
  formats: FormatResult[];
  /** What stopped the writing, where something did. */
  error: Error | null;
}
