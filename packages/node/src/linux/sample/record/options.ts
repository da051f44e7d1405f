import type { ParsedEvent } from '@counterpoint/core/events';
import type { LossEntry } from '@counterpoint/core/loss';
import type { Note, PlannedEvent, SamplePart, SidebandPart } from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import type { LaunchOptions, SynthesisPart } from '../../kernel/target/index.ts';
import type { SoftCounts } from '../../stepping/softpmu/index.ts';
import type { SamplingFormat } from '../formats/index.ts';
import type { FormatResult } from './format-recording.ts';

/** What to record, and how. Names and defaults are those of `perf record` where it has them. */
export interface RecordOptions {
  /** Run this, and record it and its children; or, with another target, record that while this runs. */
  command?: readonly string[];
  /** Running processes, with all their threads. */
  pids?: readonly number[];
  /** Running threads. */
  tids?: readonly number[];
  /** The processes that this user runs now, but not this one. */
  uid?: number;
  /** Everything that runs on any CPU. */
  systemWide?: boolean;
  /** Everything that runs on these CPUs. */
  cpus?: readonly number[];

  /** Event names as `-e` takes them, or parsed events. Default: cycles, or cpu-clock if there are none. */
  events?: string | readonly (string | ParsedEvent)[];
  /** Samples per second of each thread or CPU; default 4000. `max` is what the kernel allows. */
  frequency?: number | 'max';
  /** A sample every N events, instead of a frequency. */
  period?: number | bigint;
  /**
   * Record call chains: by frame pointers (`true`, `fp`), by copies of the user's stack (`dwarf`) that
   * are unwound when the recording is read, or by the CPU's records of open calls (`lbr`). Most binaries of
   * distributions have no frame pointers. `auto` chooses the cheapest way that gives whole stacks here, and
   * a note (`call-stacks`) says which.
   */
  callGraph?: boolean | 'auto' | 'fp' | 'dwarf' | 'lbr';
  /**
   * Samples have the last branches of their CPU, which are of these kinds and levels, by perf's words: `any`,
   * `any_call`, `cond`, `u`, `save_type`, … Needs hardware (Intel LBR, AMD, Arm BRBE).
   */
  branchStack?: readonly string[];
  /** With `callGraph: 'dwarf'`: bytes of the stack to copy, 8 to 65528; default 8192. */
  userStackBytes?: number;
  /**
   * What samples carry beside the usual: the address of the data and its source (`data-address`), its
   * `physical-address`, page sizes, `weight`, `transaction`, `raw` data, `cpu`, `period`, `cgroup`.
   */
  sampleParts?: readonly SamplePart[];
  /** Records beside samples: context `switches`, changes of `namespaces`, names of `cgroups`. */
  sideband?: readonly SidebandPart[];
  /** Take samples; default true. Without them the recording has what is recorded beside them. */
  samples?: boolean;
  /** Each task that ends tells how much it had of each event (`PERF_RECORD_READ`). */
  taskCounts?: boolean;
  /** Record which BPF programs come and go; default true. */
  bpfPrograms?: boolean;
  /** The records about processes that run already: their `tasks`, `maps`, and `cgroups`. Default: all. */
  synthesis?: readonly SynthesisPart[];
  /** Registers where the event happened, by their names in perf (`ax`, `x0`); `all`. */
  interruptRegisters?: readonly string[] | 'all';
  /** Registers of user space at the time of a sample. */
  userRegisters?: readonly string[] | 'all';
  /**
   * For the entry of `events` at the same place: what a tracepoint's fields must be (`prev_pid == 1`); null:
   * no filter. Of an entry that names several events it holds for the last one, or all that a pattern names.
   */
  filters?: readonly (string | null)[];
  /**
   * Only what runs in these control groups: one for all events, or one for each event in its order (null: in
   * any). Whole CPUs are watched.
   */
  cgroups?: readonly (string | null)[];
  /** Of tracepoints: leave out what this process does. */
  excludeRecorder?: boolean;
  /** Which part of call chains. */
  callchains?: 'both' | 'user' | 'kernel';
  /** Leave the kernel or the user's code out. */
  levels?: 'all' | 'user' | 'kernel';
  /** Follow children and new threads; default true. */
  inherit?: boolean;
  /**
   * Events of each thread wherever it runs, with a ring of its own, in place of one for each CPU; children
   * and new threads are not followed. Not of whole CPUs, and not with formats or hardware traces.
   */
  perThread?: boolean;
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
   * Of soft events: only what calls of this function execute, and what they call. `NAME`, or `FILE:NAME`.
   * The target runs freely otherwise.
   */
  onFunction?: string;
  /** Of soft events: the target goes on by itself after N stepped instructions. */
  stopAfter?: number;
  /**
   * Of soft events: each instruction in a single step (the default), or a translated copy of the code that
   * logs which blocks it executes: thousands of times faster, without call chains.
   */
  softWay?: 'step' | 'fast';
  /**
   * Pages of each CPU's buffer, rounded up to a power of two. Default: 2 MiB, or more at high rates, as
   * far as the user may lock it.
   */
  mmapPages?: number;

  /**
   * Bytes of each CPU's buffer for a hardware trace, a power of two. Default: 4 MiB, and 128 KiB for users
   * who may lock little memory. It is halved while it is more than the user may lock.
   */
  traceBytes?: number;

  /**
   * A hardware trace writes over its oldest data, and is recorded when `RecordControl.snapshot` is called;
   * with `and-at-end` also when the recording ends.
   */
  traceSnapshots?: 'when-asked' | 'and-at-end';

  /**
   * Samples of the events in the group of a hardware trace (`{intel_pt//u,branch-misses:u}`) have so many
   * bytes of it, up to where they are taken. Nothing else of it is recorded.
   */
  traceSampleBytes?: number;

  /** Most bytes of each CPU's trace in a snapshot. Default: all of its buffer. */
  traceSnapshotBytes?: number;

  /**
   * Wake the recorder after so many samples; 1 is after each: for readers of a stream who wait for it. Not
   * together with `wakeupBytes`.
   */
  wakeupEvents?: number;
  /** Wake the recorder when a buffer holds so many bytes. Default: half of the buffer, as the kernel does. */
  wakeupBytes?: number;

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
  /**
   * Compress what the kernel records, by Zstandard at this level (1 to 22). Node 22.15 does it itself;
   * before it, the library libzstd of the system. Nothing is read from the rings meanwhile.
   */
  compressionLevel?: number;
  /** Begin N milliseconds after the target. */
  delayMs?: number;
  /** Begin with all events off. The control that `onControl` gets turns them on. */
  startDisabled?: boolean;
  /** Called once, when everything is open: turn events on and off while it records. */
  onControl?: (control: RecordControl) => void;
  /** Add the time at which the file ends to its name: `perf.data.2026112518301507`. */
  timestampFilename?: boolean;
  /** Continue in another file again and again. The name of each file has the time of its end. */
  switchOutput?: OutputSwitching;
  /** Called when a file is complete and the recording continues in another one. */
  onSwitch?: (path: string) => void;
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
  /** Called with all notes when one is added during the recording. */
  onNote?: (notes: readonly Note[]) => void;
  /** Called when the output is a named pipe without a reader. Recording begins when it has one. */
  onWaitForReader?: (path: string) => void;
  /** Called once, when the counters are stopped. Sampling formats may still need time to finish. */
  onStop?: (stop: RecordStop) => void;
  /**
   * When the recording ends before its command does, the command gets SIGTERM. One that has not ended
   * after N ms is left running, with a note; default 5000, Infinity waits for it. Where the
   * output takes no more (a full disk), the command is let go on: a note says so, and the result comes
   * when it ends, or `signal` ends it.
   */
  commandGraceMs?: number;
  /** Read the rings at least this often; default 200, or 40 where functions are named by their frames. */
  flushIntervalMs?: number;
  /** What the file says of the tool that made it. */
  toolVersion?: string;
  /** What the file says of the command line that made it. Default: words made of the target. */
  commandLine?: readonly string[];
  /** @internal */
  sys?: Sys;
}

/**
 * When a recording continues in another file. If no condition is given: when
 * `RecordControl.switchOutput` is called.
 */
export interface OutputSwitching {
  /** When the file has this size. */
  bytes?: number;
  /** So often, in milliseconds. */
  everyMs?: number;
  /** Keep the latest N files. Default: all. */
  mostFiles?: number;
}

/**
 * Turns the events of a running recording on and off. Processes and their
 * maps are recorded all the time.
 */
export interface RecordControl {
  /** All that is recorded. */
  readonly events: readonly PlannedEvent[];
  /** Take samples of all events, or of one by its name; false where none has that name. */
  enable(event?: string): boolean;
  /** Take no samples until they are enabled again. */
  disable(event?: string): boolean;
  /** With `switchOutput` of the options: continue in another file. */
  switchOutput(): void;
  /**
   * With `traceSnapshots` of the options: record what was traced last. The trace stands still
   * meanwhile. Resolves when it goes on.
   */
  snapshot(): Promise<void>;
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
  /** The process of the command; null without one. */
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
  /** What was stepped for soft events, exactly; null without such events. */
  soft: SoftCounts | null;
  /** Size of the traces of `soft_pt`, without what stands around them. */
  traceBytes: number;
  /** Size of the output. */
  bytes: number;
  /** How often data was read: each time when there was enough to be woken for, and at the end. */
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
