import { toBigInt } from '../../base/index.ts';
import type { CodeHistory } from '../../code/jit/index.ts';
import {
  Machine,
  mappedJitDump,
  type Process,
  SIDEBAND_TYPES,
  type Thread,
} from '../../code/machine/index.ts';
import {
  LossCollector,
  type PerfDataReader,
  type RecordedEvent,
  type RecordSink,
  relativeNs,
  SampleStream,
} from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TIME,
} from '../../format/abi/index.ts';
import { decodeRecord, SampleFields } from '../../format/records/index.ts';
import { NONE, type Profile } from '../tables/index.ts';
import { Binaries } from './binaries.ts';
import { CodeHistories } from './code-histories.ts';
import type { SampleFilter } from './sample-filter.ts';
import { StackInterner } from './stack-interner.ts';
import { isTraced } from './tracing-machinery.ts';

/** One sample with what is known of it at its time. One object, reused: borrowed until the call returns. */
export class WalkedSample {
  /** The event of the sample. */
  event!: RecordedEvent;
  /** Its fields, as numbers. */
  fields!: SampleFields;
  /** The thread that ran. */
  thread!: Thread;
  /** The bytes of its record. */
  view!: DataView;
  /** Where its record ends in `view`. */
  recordEnd = 0;
  /** Nanoseconds since the reader's base time; NaN where the sample has no time. */
  timeNs = Number.NaN;
  /** -1 where not recorded. */
  cpu = NONE;
  /** PERF_RECORD_MISC_CPUMODE of the sample. */
  mode = 0;
  /** Innermost row of the profile's stack table, or -1. */
  stack = NONE;
  /** Lower 32 bits of its period. */
  periodLo = 0;
  /** Upper 32 bits of its period. */
  periodHi = 0;
}

interface RelativeRange {
  from: number;
  to: number;
}

/**
 * Follows all records of a recording in order: keeps the machine's state, collects losses, and
 * hands out each wanted sample with its thread and stack. What becomes of samples (a profile,
 * lines of text) is the caller's.
 */
export class SampleWalker implements RecordSink {
  readonly machine = new Machine();
  readonly binaries: Binaries;
  readonly losses: LossCollector;
  /** To be loaded before the first sample, where the recording has times of generated code. */
  readonly codeHistories = new CodeHistories();
  readonly #stacks: StackInterner;
  readonly #wholeChains: boolean;
  readonly #guessesCallers: boolean;
  readonly #samples: SampleStream;
  readonly #reader: PerfDataReader;
  readonly #filter: SampleFilter | null;
  readonly #onSample: (sample: WalkedSample) => void;
  readonly #walked = new WalkedSample();
  readonly #place = new SampleFields();
  readonly #code = new Map<Process, ProcessCode>();
  /** Of the dumps that `#code` was made with. */
  #dumpGeneration = 0;
  /** Relative to the base; null until that is known. */
  #ranges: RelativeRange[] | null = null;

  constructor(
    reader: PerfDataReader,
    profile: Profile,
    options: {
      filter?: SampleFilter | undefined;
      innermostOnly?: boolean | undefined;
      /** Guess callers from the top of stacks; `guessedCallers` says which they are. */
      guessCallers?: boolean;
    },
    onSample: (sample: WalkedSample) => void,
  ) {
    this.#reader = reader;
    this.#filter = options.filter ?? null;
    this.#onSample = onSample;
    this.binaries = new Binaries(profile, this.machine, reader);
    this.#guessesCallers = options.guessCallers === true && reader.littleEndian;
    this.#wholeChains = options.innermostOnly !== true;
    this.#stacks = new StackInterner(profile, this.machine, this.binaries, this.#wholeChains);
    this.losses = new LossCollector(reader);
    this.#samples = new SampleStream(
      reader.events,
      reader.damage,
      reader.littleEndian,
      (event, fields, lo, hi) => this.#sample(event, fields, lo, hi),
      (view, event, fields, le) => this.losses.parts(view, event, fields, le),
    );
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    const { events, littleEndian } = this.#reader;
    if (type === PERF_RECORD_SAMPLE) {
      this.#walked.view = view;
      this.#walked.recordEnd = end;
      this.#walked.mode = view.getUint16(start + 4, littleEndian) & PERF_RECORD_MISC_CPUMODE_MASK;
      this.#samples.sample(view, start, end, type, fileOffset);
    } else if (SIDEBAND_TYPES.has(type)) {
      const event = events.eventOf(view, start, end, type, littleEndian) ?? events.events[0] ?? null;
      const record = decodeRecord(view, start, end - start, event?.layout ?? null, littleEndian);
      this.machine.record(record);
      const dump = mappedJitDump(record);
      if (dump !== null) this.codeHistories.dumps.want(dump.pid, dump.path);
    } else this.losses.record(view, start, end, type);
  }

  /** Whether callers are guessed, and samples have what it takes. */
  get hasStackTops(): boolean {
    return this.#guessesCallers && this.#reader.events.events.some(hasStackTop);
  }

  /** See `StackInterner`. */
  get guessedCallers(): ReadonlySet<number> {
    return this.#stacks.guessedCallers;
  }

  /** See `StackInterner`. */
  get codeLines(): ReadonlyMap<number, number> {
    return this.#stacks.codeLines;
  }

  /** Row of the stack table for another address of a sample: where its branch went. */
  stackAt({ view, thread }: WalkedSample, lo: number, hi: number): number {
    this.#stacks.takesStackTop = false;
    const place = this.#place;
    place.ipLo = lo;
    place.ipHi = hi;
    const mode = (hi | 0) < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    return this.#stacks.intern(view, place, thread.process, mode, true, this.#reader.littleEndian);
  }

  /** See `StackInterner`. */
  frameBeside(frame: number, lo: number, hi: number): number {
    return this.#stacks.frameBeside(frame, lo, hi);
  }

  #sample(event: RecordedEvent, fields: SampleFields, periodLo: number, periodHi: number): void {
    const reader = this.#reader;
    const walked = this.#walked;
    const bits = event.layout.sampleType;
    const timeNs =
      (bits & PERF_SAMPLE_TIME) !== 0
        ? relativeNs(fields.timeLo, fields.timeHi, reader.baseTime)
        : Number.NaN;
    const cpu = (bits & PERF_SAMPLE_CPU) !== 0 ? fields.cpu : NONE;
    this.losses.sample(cpu, timeNs);
    const thread = this.machine.thread(fields.pid, fields.tid);
    const { process } = thread;
    if (process.formerMaps !== null && walked.mode === PERF_RECORD_MISC_USER) process.leaveExec();
    if (this.#filter !== null && !this.#isWanted(this.#filter, event, thread, cpu, timeNs)) return;
    walked.event = event;
    walked.fields = fields;
    walked.thread = thread;
    walked.timeNs = timeNs;
    walked.cpu = cpu;
    walked.periodLo = periodLo;
    walked.periodHi = periodHi;
    const hasIp = (bits & PERF_SAMPLE_IP) !== 0;
    // Which function a handler of the interpreter runs is in the chain only.
    const takesStackTop = this.#guessesCallers && hasStackTop(event);
    this.#stacks.takesStackTop = takesStackTop;
    this.#stacks.wholeChains = this.#wholeChains || takesStackTop || isTraced(event);
    if (!this.codeHistories.isEmpty) this.#chooseCode(process, timeNs);
    walked.stack = this.#stacks.intern(walked.view, fields, process, walked.mode, hasIp, reader.littleEndian);
    this.#onSample(walked);
  }

  /** Samples come in order of time, as a rule: the version that was found last holds for most. */
  #chooseCode(process: Process, timeNs: number): void {
    const { generation } = this.codeHistories.dumps;
    if (generation !== this.#dumpGeneration) {
      this.#dumpGeneration = generation;
      this.#code.clear();
    }
    let code = this.#code.get(process);
    if (code === undefined) {
      const { lo, hi } = this.#reader.baseTime;
      const history = this.codeHistories.of(process.pid, toBigInt(lo, hi));
      code = { history, version: 0, fromNs: Infinity, toNs: Infinity };
      this.#code.set(process, code);
    }
    if (code.history !== null && !(timeNs >= code.fromNs && timeNs < code.toNs)) {
      code.version = code.history.versionAt(timeNs);
      code.fromNs = code.version === 0 ? -Infinity : code.history.endOf(code.version - 1);
      code.toNs = code.history.endOf(code.version);
    }
    this.#stacks.codeHistory = code.history;
    this.#stacks.codeVersion = code.version;
  }

  #isWanted(
    filter: SampleFilter,
    event: RecordedEvent,
    thread: Thread,
    cpu: number,
    timeNs: number,
  ): boolean {
    if (filter.events !== undefined && !filter.events.has(event.index)) return false;
    if (filter.pids !== undefined && !filter.pids.has(thread.process.pid)) return false;
    if (filter.tids !== undefined && !filter.tids.has(thread.tid)) return false;
    if (filter.comms !== undefined && !filter.comms.has(thread.comm)) return false;
    if (filter.cpus !== undefined && !filter.cpus.has(cpu)) return false;
    if (filter.fromNs == null && filter.toNs == null && filter.times === undefined) return true;
    this.#ranges ??= this.#relativeRanges(filter);
    return this.#ranges.some(({ from, to }) => timeNs >= from && timeNs <= to);
  }

  /** The base is known once the first record with a time is. */
  #relativeRanges({ fromNs, toNs, times }: SampleFilter): RelativeRange[] {
    const base = toBigInt(this.#reader.baseTime.lo, this.#reader.baseTime.hi);
    const relative = (timeNs: bigint | null | undefined, open: number) =>
      timeNs == null ? open : Number(timeNs - base);
    const [least, most] = [relative(fromNs, -Infinity), relative(toNs, Infinity)];
    const wanted = times ?? [{ fromNs: null, toNs: null }];
    return wanted.map((range) => ({
      from: Math.max(least, relative(range.fromNs, -Infinity)),
      to: Math.min(most, relative(range.toNs, Infinity)),
    }));
  }
}

/** What is known of a process's generated code at the time of its last sample. */
interface ProcessCode {
  readonly history: CodeHistory | null;
  version: number;
  fromNs: number;
  toNs: number;
}

/** Whether samples have a call chain, and at least the top of the user's stack. */
function hasStackTop({ layout }: RecordedEvent): boolean {
  return (layout.sampleType & WITH_STACK_TOP) === WITH_STACK_TOP;
}

const WITH_STACK_TOP = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER;
