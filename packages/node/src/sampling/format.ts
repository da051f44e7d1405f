/**
 * What a sampling format is: what happens at an overflow, in the kernel, and what user space makes of it.
 *
 *   overflow ─> handler (BPF, assembled by `onOverflow`) ─> maps, ring buffer ─> `collect` ─> results ─> `toSamples` ─> perf.data
 *                  └─ verdict: the kernel's own record, too, or not                             └─> `describe` ─> lines for people
 *
 * A format is a module of plain functions, in TypeScript or JavaScript. What it gives is data until `FormatRun` loads it.
 */
import type { PerfEventAttr } from '@counterpoint/core/records';
import type { BpfAssembler, BpfMap, BpfMapDefinition, BpfProgramType, BpfRingBuffer } from '../bpf/index.ts';
import type { FormatOptionTable, OptionValues } from './format-options.ts';
import type { LossReason } from './loss-counters.ts';

export interface SamplingFormat<Table extends FormatOptionTable = FormatOptionTable, Result = unknown> {
  /** As in `--format NAME`. */
  readonly name: string;
  readonly version: number;
  /** One line. */
  readonly summary: string;
  readonly options: Table;
  /**
   * It watches by programs of its own (`plan().programs`): instead of copies of the recording's events it has these, which count
   * nothing and are there for its samples to belong to. May be none.
   */
  readonly ownEvents?: readonly OwnEvent[];
  /** Its samples have the times of their overflows, and come later than records of the kernel that are younger. */
  readonly areSamplesLate?: boolean;
  /** What it needs. Throws a `CounterpointError` where it cannot be had. Opens nothing. */
  plan(options: OptionValues<Table>, target: FormatTarget): FormatPlan;
  /**
   * Write the handler of one event; absent: the kernel's own record. r6 is the context from the start, and a handler that comes
   * to its end leaves the kernel's record out (a tracepoint's stays, for other users of it). Runs again for each event.
   */
  onOverflow?(asm: BpfAssembler, context: HandlerContext<OptionValues<Table>>): void;
  /**
   * User space's side: results, one by one, until `context.next()` says `stopped`; then what is still in the maps. Nothing runs in
   * the kernel any more by then.
   */
  collect(maps: FormatMaps, context: CollectContext<OptionValues<Table>>): AsyncIterable<Result>;
  /** A result as samples, so that it opens in `report`, in perf and in every export. */
  toSamples?(result: Result, context: ResultContext<OptionValues<Table>>): Iterable<FormatSample>;
  /** A result as lines for people, where samples do not say it. */
  describe?(result: Result, context: ResultContext<OptionValues<Table>>): Iterable<string>;
}

/** A format with its types inferred from its table: `export default defineFormat({ … })`. */
export function defineFormat<const Table extends FormatOptionTable, Result>(
  format: SamplingFormat<Table, Result>,
): SamplingFormat<Table, Result> {
  return format;
}

export interface OwnEvent {
  /** As reports name it: `offcpu-time`. */
  readonly name: string;
  /** Samples carry call chains. */
  readonly callchains?: boolean;
}

/** Whom the recording is about. */
export interface FormatTarget {
  readonly kind: 'command' | 'processes' | 'threads' | 'cpus';
  /** Processes or threads; the command's process; empty for CPUs. */
  readonly ids: readonly number[];
  /** Their children and new threads, too. */
  readonly inherits: boolean;
  readonly cpus: readonly number[];
  readonly events: readonly FormatEvent[];
}

export interface FormatEvent {
  readonly name: string;
  readonly attr: PerfEventAttr;
}

export interface FormatPlan {
  /** Maps beyond those that programs refer to. */
  readonly maps?: readonly BpfMapDefinition[];
  /** Programs beside the handlers. */
  readonly programs?: readonly FormatProgram[];
  /** Samples carry call chains, of so many frames at most where a number is given (else as many as the kernel's own records). */
  readonly callchains?: boolean | { readonly mostFrames: number };
  /** What samples say beside the usual. Where there is no handler, these are the kernel's own records. */
  readonly sampleFields?: FormatSampleFields;
  /** When `collect` is woken without asking for it by `context.notify()` in the handler. Default: never. */
  readonly wake?: WakeRule;
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

/** `every`: by each so many overflows of an event on a CPU. */
export type WakeRule = { readonly kind: 'never' } | { readonly kind: 'every'; readonly count: number };

/** Something else to be hooked: at each hit of a tracepoint, on every CPU, for every process. */
export interface FormatProgram {
  readonly name: string;
  readonly attach:
    | { readonly kind: 'tracepoint'; readonly system: string; readonly name: string }
    | { readonly kind: 'raw-tracepoint'; readonly name: string };
  /** As `onOverflow`: r6 is the context. */
  assemble(asm: BpfAssembler, context: ProgramContext): void;
}

/** What every program of a format may do beside what the assembler can. */
export interface ProgramContext {
  readonly programType: BpfProgramType;
  /**
   * For programs on tracepoints, which run for every process: end here where what runs is not of the recording's target. Calls:
   * loses r0 to r5.
   */
  onlyTarget(): void;
  /** Something that should have been recorded was not. It stands in the recording's ledger, per CPU. Loses r1 and r2. */
  countLoss(reason: LossReason): void;
  /** Wake `collect`. A call: loses r0 to r5. */
  notify(): void;
}

export interface HandlerContext<Options> extends ProgramContext {
  readonly options: Options;
  /** Among the events of this format, from 0. */
  readonly event: number;
  readonly eventName: string;
  readonly attr: PerfEventAttr;
}

/** Maps by name. */
export type FormatMaps = ReadonlyMap<string, BpfMap>;

export interface ResultContext<Options> {
  readonly options: Options;
  readonly events: readonly FormatEvent[];
  /** CPUs that the values of per-CPU maps stand for, in their order. */
  readonly cpus: readonly number[];
}

export interface CollectContext<Options> extends ResultContext<Options> {
  readonly target: FormatTarget;
  /** Wait: for a notification, for so long at most, for the end. */
  next(intervalMs?: number): Promise<'notified' | 'interval' | 'stopped'>;
  /** Map a ring buffer, to be read without a copy and without a system call. Close it. */
  openRing(map: BpfMap): BpfRingBuffer;
  /** What user space found to be missing. */
  countLoss(reason: LossReason, count: number, place?: { event?: number; cpu?: number }): void;
  /** The clock of the recording and of `ktime_get_ns` (CLOCK_MONOTONIC). */
  nowNs(): bigint;
}

/** A sample, as a PERF_RECORD_SAMPLE of its event will have it. What the event's attr does not ask for is left out. */
export interface FormatSample {
  /** Among the events of this format, from 0. */
  readonly event: number;
  readonly ip: bigint;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly timeNs: bigint;
  /** How many events it stands for. */
  readonly period: bigint;
  readonly address?: bigint;
  readonly weight?: bigint;
  /** Of what was interrupted, by rising number: those of `sampleFields.registers`. */
  readonly registers?: readonly bigint[];
  /** Innermost first, with the kernel's marks (PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER). */
  readonly callchain?: readonly bigint[];
}
