/**
 * What a sampling format is: what happens at an overflow, in the kernel, and what user space makes of it.
 *
 *   overflow ─> handler (BPF, assembled by `onOverflow`) ─> maps, ring buffer ─> `collect` ─> results ─> `toSamples` ─> perf.data
 *                  └─ verdict: the kernel's own record, too, or not                             └─> `describe` ─> lines for people
 *
 * A format is a module of plain functions, in TypeScript or JavaScript. What it gives is
 * data until `FormatRun` loads it.
 */
import type { PerfEventAttr } from '@counterpoint/core/records';
import type {
  BpfAssembler,
  BpfMap,
  BpfMapDefinition,
  BpfProgramType,
  BpfRingBuffer,
  Register,
} from '../../kernel/bpf/index.ts';
import { checkFormat } from './check-format.ts';
import type { FormatOptionTable, OptionValues } from './format-option.ts';
import type { LossReason } from './loss-counters.ts';
import type { RecordedTime } from './recorded-time.ts';

/** What happens at an overflow, in the kernel, and what user space makes of it. */
export interface SamplingFormat<Table extends FormatOptionTable = FormatOptionTable, Result = unknown> {
  /** As in `--format NAME`. */
  readonly name: string;
  /** The version of the format: raise it when its results change their meaning. */
  readonly version: number;
  /** One line. */
  readonly summary: string;
  /** The options that it takes, as a table. */
  readonly options: Table;
  /**
   * It watches by programs of its own (`plan().programs`): instead of copies of the recording's events it has
   * these, which count nothing and are there for its samples to belong to. May be none.
   */
  readonly ownEvents?: readonly OwnEvent[];
  /**
   * A flight recorder can use it: its results have times, and `collect` gives all that there is at each
   * `paused`. Options that have other defaults there. Absent: it cannot.
   */
  readonly history?: Readonly<Partial<OptionValues<Table>>>;
  /** What it needs. Throws a `CounterpointError` where it cannot be had. Opens nothing. */
  plan(options: OptionValues<Table>, target: FormatTarget): FormatPlan;
  /**
   * Write the handler of one event; absent: the kernel's own record. r6 is the context from the start, and a
   * handler that comes to its end leaves the kernel's record out (a tracepoint's stays, for other users of
   * it). Runs again for each event.
   */
  onOverflow?(asm: BpfAssembler, context: HandlerContext<OptionValues<Table>>): void;
  /**
   * User space's side: results, one by one, until `context.next()` says `stopped`; then what is still in the
   * maps. Nothing runs in the kernel any more by then.
   */
  collect(maps: FormatMaps, context: CollectContext<OptionValues<Table>>): AsyncIterable<Result>;
  /**
   * What notified has suspended the counters (`plan().suspend`), `collect` has dealt with it and asks for
   * what is next: the last moment before they run again, in which maps may be read and emptied with nothing
   * running. Results that it returns come out as those of `collect` do. Not called where the recording ends
   * while they are suspended: `collect` has the rest.
   */
  onRestart?(maps: FormatMaps, context: RestartContext<OptionValues<Table>>): Iterable<Result> | undefined;
  /** A result as samples, so that it opens in `report`, in perf and in every export. */
  toSamples?(result: Result, context: ResultContext<OptionValues<Table>>): Iterable<FormatSample>;
  /**
   * In place of `toSamples`, for formats with very many: the samples where they lie. They are
   * written before `collect` goes on.
   */
  toRows?(result: Result, context: ResultContext<OptionValues<Table>>): SampleRows | null;
  /** A result as lines for people, where samples do not say it. */
  describe?(result: Result, context: ResultContext<OptionValues<Table>>): Iterable<string>;
}

/**
 * A format with its types inferred from its table: `export default defineFormat({ … })`. Throws
 * `ERR_FORMAT_MODULE` for what is no format.
 */
export function defineFormat<const Table extends FormatOptionTable, Result>(
  format: SamplingFormat<Table, Result>,
): SamplingFormat<Table, Result> {
  checkFormat('defineFormat()', format);
  return format;
}

/** An event of the format itself, in place of the recording's. */
export interface OwnEvent {
  /** As reports name it: `offcpu-time`. */
  readonly name: string;
  /** Samples carry call chains. */
  readonly callchains?: boolean;
}

/** The target of the recording. */
export interface FormatTarget {
  /** What was chosen to be recorded. */
  readonly kind: 'command' | 'processes' | 'threads' | 'cpus';
  /** Processes or threads; the command's process; empty for CPUs. */
  readonly ids: readonly number[];
  /** Their children and new threads, too. */
  readonly inherits: boolean;
  /** The CPUs that are recorded: those of the target, or all that are online. */
  readonly cpus: readonly number[];
  /** The events of this format, in their order. */
  readonly events: readonly FormatEvent[];
}

/** An event of the recording, as a format sees it. */
export interface FormatEvent {
  /** Its name, as the recording has it. */
  readonly name: string;
  /** Its attr, as the kernel gets it. */
  readonly attr: PerfEventAttr;
}

/** What a format needs of the kernel and of samples. */
export interface FormatPlan {
  /** Maps beyond those that programs refer to. */
  readonly maps?: readonly BpfMapDefinition[];
  /** Programs beside the handlers. */
  readonly programs?: readonly FormatProgram[];
  /**
   * Samples carry call chains, of at most this many frames where a number is given (else as many
   * as the kernel's own records).
   */
  readonly callchains?: boolean | ChainPlan;
  /** What samples say beside the usual. Where there is no handler, these are the kernel's own records. */
  readonly sampleFields?: FormatSampleFields;
  /** When `collect` is woken without asking for it by `context.notify()` in the handler. Default: never. */
  readonly wake?: WakeRule;
  /**
   * What notifies, `context.notify()` or the wake rule, suspends: when the run that notified is over the
   * kernel has stopped its counter, no other run of any of its programs begins, and the other counters stop
   * as soon as this process is awake. They are resumed when `collect` asks for `next()` again. Such a handler
   * keeps no records. Time suspended is in the ledger of losses.
   */
  readonly suspend?: boolean;
}

/** How a format uses call chains. */
export interface ChainPlan {
  /** Most frames of a chain. */
  readonly mostFrames: number;
  /**
   * The kernel need not find the chains of such an event at each overflow: the handler does, and keeps no
   * records. Default: none. Where it has to all the same, the handler is told (`isChainFoundByHandler`).
   */
  isFoundByHandler?(attr: PerfEventAttr): boolean;
  /**
   * Samples may have registers and a copy of the user's stack in place of the user's part of a chain: what
   * reads the file finds the callers then. Default: none have.
   */
  readonly userStacks?: UserStackPlan;
}

/** What of a thread's user code a sample may have. */
export interface UserStackPlan {
  /** `sample_regs_user`: registers by their numbers in asm/perf_regs.h. */
  readonly registers: bigint;
  /** `sample_stack_user`: the most bytes of a copy, a multiple of 8. */
  readonly bytes: number;
}

/** Fields of `perf_event_attr`. */
export interface FormatSampleFields {
  /** More bits of `sample_type`. */
  readonly bits: number;
  /** `sample_regs_intr`, with PERF_SAMPLE_REGS_INTR: registers by their numbers in asm/perf_regs.h. */
  readonly registers?: bigint;
  /** `precise_ip`: so close to the instruction that caused the overflow. */
  readonly precise?: number;
}

/**
 * `every`: by every N overflows of an event on a CPU. `filled`: at a fill level of one of the format's
 * maps, asked for at the end of each run that had to do with it. What holds less again (a ring that was read)
 * wakes again when it is as full.
 */
export type WakeRule =
  | { readonly kind: 'never' }
  | { readonly kind: 'every'; readonly count: number }
  /** Of a ring buffer: the bytes that were not read, with eight for the head of each record. */
  | { readonly kind: 'filled'; readonly map: string; readonly bytes: number }
  /**
   * Of another map: the new entries since `collect` was last woken by this rule. What `asm.countInMap`
   * and `asm.addToMap` put in counts by itself, other entries by `context.countEntry()`.
   */
  | { readonly kind: 'filled'; readonly map: string; readonly entries: number };

/** Something else to be hooked: at each hit of a tracepoint, on every CPU, for every process. */
export interface FormatProgram {
  /** The name of the program, unique in the plan. */
  readonly name: string;
  /** The tracepoint to which it is attached; `raw-tracepoint` gives it the arguments as they are. */
  readonly attach:
    | { readonly kind: 'tracepoint'; readonly system: string; readonly name: string }
    | { readonly kind: 'raw-tracepoint'; readonly name: string };
  /** As `onOverflow`: r6 is the context. */
  assemble(asm: BpfAssembler, context: ProgramContext): void;
}

/** What every program of a format may do beside what the assembler can. */
export interface ProgramContext {
  /** The type of the program, which decides what it may do. */
  readonly programType: BpfProgramType;
  /**
   * For programs beside the handlers, which run for every process: end here where what runs is not of the
   * recording's target. Calls: loses r0 to r5. (A handler runs for the target alone, on tracepoints, too.)
   */
  onlyTarget(): void;
  /**
   * When the recording was enabled, by the clock of `ktime_get_ns`; until then later than any
   * time. For programs on tracepoints, which run before that, too (`-D`, and while all is made
   * ready). Loses nothing else.
   */
  loadBeginNs(destination: Register): void;
  /** End here where the recording is over: the kernel takes programs off tracepoints late. Loses r1. */
  onlyBeforeEnd(): void;
  /**
   * Something that should have been recorded was not. It stands in the recording's
   * ledger, per CPU. Loses r1 and r2.
   */
  countLoss(reason: LossReason): void;
  /** Wake `collect`. A call: loses r0 to r5. */
  notify(): void;
  /** For a wake rule by entries: there is one more in the map. Loses r0 to r5. */
  countEntry(): void;
}

/** What `onOverflow` is given. */
export interface HandlerContext<Options> extends ProgramContext {
  /** The values of the format's options. */
  readonly options: Options;
  /** Among the events of this format, from 0. */
  readonly event: number;
  /** The name of the event. */
  readonly eventName: string;
  /** The attr of the event, as the kernel gets it. */
  readonly attr: PerfEventAttr;
  /**
   * The kernel was not asked for call chains (`ChainPlan.isFoundByHandler`): helpers give their parts
   * without marks, at their own cost.
   */
  readonly isChainFoundByHandler: boolean;
}

/** Maps by name. */
export type FormatMaps = ReadonlyMap<string, BpfMap>;

/** What every function of user space's side is given. */
export interface ResultContext<Options> {
  /** The values of the format's options. */
  readonly options: Options;
  /** The events of the format, in their order. */
  readonly events: readonly FormatEvent[];
  /** CPUs that the values of per-CPU maps stand for, in their order. */
  readonly cpus: readonly number[];
}

/** Who notified, and when. */
export interface SuspendedBy {
  /** Among the events of the format; null: a program of its plan. */
  readonly event: number | null;
  /** Of the counter that has stopped. */
  readonly cpu: number | null;
  /** By the clock of `nowNs`. */
  readonly sinceNs: bigint;
}

/** What user space may do while the counters run, or are suspended. */
export interface ReadContext<Options> extends ResultContext<Options> {
  /** What user space found to be missing. */
  countLoss(reason: LossReason, count: number, place?: { event?: number; cpu?: number }): void;
  /** The clock of the recording and of `ktime_get_ns` (CLOCK_MONOTONIC). */
  nowNs(): bigint;
}

/** What `collect` is given. */
export interface CollectContext<Options> extends ReadContext<Options> {
  /** The target of the recording. */
  readonly target: FormatTarget;
  /**
   * Wait: for a notification, for so long at most, for the end. Counters that are
   * suspended are resumed before. `paused`: a flight recorder writes a file; no handler runs
   * until the next call, so give all that there is.
   */
  next(intervalMs?: number): Promise<'notified' | 'interval' | 'paused' | 'stopped'>;
  /** From enabling to stopping, or to now while it goes on; null where the recording was not enabled. */
  recordedTime(): RecordedTime | null;
  /** Wait for so long, or for the end: what is suspended stays so. */
  delay(ms: number): Promise<void>;
  /** Map a ring buffer, to be read without a copy and without a system call. Close it. */
  openRing(map: BpfMap): BpfRingBuffer;
}

/** What `onRestart` is given. */
export interface RestartContext<Options> extends ReadContext<Options> {
  /** Who notified, and when. */
  readonly suspendedBy: SuspendedBy;
}

/**
 * A sample, as a PERF_RECORD_SAMPLE of its event will have it. What the event's attr
 * does not ask for is left out.
 */
export interface FormatSample {
  /** Among the events of this format, from 0. */
  readonly event: number;
  /** The address of the instruction. */
  readonly ip: bigint;
  /** The process. */
  readonly pid: number;
  /** The thread. */
  readonly tid: number;
  /** The CPU. */
  readonly cpu: number;
  /** When it was taken, by the recording's clock. */
  readonly timeNs: bigint;
  /** How many events it stands for. */
  readonly period: bigint;
  /** The address of the data, for events that have one. */
  readonly address?: bigint;
  /** The weight, such as the latency of a load in cycles. */
  readonly weight?: bigint;
  /** Of what was interrupted, by rising number: those of `sampleFields.registers`. */
  readonly registers?: readonly bigint[];
  /** Innermost first, with the kernel's marks (PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER). */
  readonly callchain?: readonly bigint[];
  /**
   * With `ChainPlan.userStacks`: its registers by rising number, and what is on the stack, from its top on.
   */
  readonly user?: { readonly registers: readonly bigint[]; readonly stack: Uint8Array };
}

/**
 * Samples as they lie in memory, without an object for each. *Borrowed*: until `collect` goes on.
 *
 *   words   | ... event ... ip ip ... pid tid ... period period ... place ... |       a row; 32 bits a word, low halves first
 *   chains                     [ length, mark, address, caller, caller ] <──┘         64 bits a word
 */
export interface SampleRows {
  /** The rows: `rowWords` words each. */
  readonly words: Uint32Array;
  /** Length of a row, in words of 32 bits. */
  readonly rowWords: number;
  /** How many samples there are. */
  readonly count: number;
  /** Which rows, by number; absent: the first `count`. */
  readonly places?: Uint32Array;
  /** The word of a row with which each field begins. */
  readonly at: {
    readonly event: number;
    readonly pid: number;
    readonly tid: number;
    readonly ip: number;
    readonly period: number;
    readonly timeNs?: number;
    /** Place of its call chain, in words of 64 bits; 0: it has none, and is the address alone. */
    readonly chain?: number;
  };
  /** Of all rows. */
  readonly cpu: number;
  /** Of rows without a time of their own. */
  readonly timeNs: bigint;
  /** Times that stand beside the rows: of the n-th one, wherever it is. */
  readonly timesNs?: BigUint64Array;
  /**
   * Call chains as the kernel gives them, marks and all. One chain serves all addresses of a
   * function: the second word, where the first is the mark of the row's own mode, is the row's
   * address whatever stands there.
   */
  readonly chains?: Uint32Array;
}
