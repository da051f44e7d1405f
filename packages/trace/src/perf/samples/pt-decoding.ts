import {
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_EXIT,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  recordTypeName,
} from '@counterpoint/core/abi';
import { Machine, SIDEBAND_TYPES } from '@counterpoint/core/machine';
import type {
  PerfDataReader,
  RecordedEvent,
  RecordSink,
  SourceScanOptions,
} from '@counterpoint/core/perfdata';
import {
  type AuxOutputHwIdRecord,
  decodeRecord,
  type ExitRecord,
  type ItraceStartRecord,
  type PerfEventAttr,
  type SampleId,
  type SwitchCpuWideRecord,
} from '@counterpoint/core/records';
import {
  type Errata,
  errataOf,
  findPsb,
  findPsbBackward,
  NO_ERRATA,
  type PerfClock,
  PT_CONFIG_EVENT_TRACE,
  type PtInfo,
  parseCpu,
} from '../../pt/index.ts';
import {
  type AuxIndex,
  type AuxQueue,
  type AuxStretch,
  auxQueues,
  readStretches,
} from '../auxtrace/index.ts';
import { DecodingLog } from './decoding-log.ts';
import type { ItraceOptions } from './itrace-options.ts';
import { lettersNotDone } from './not-done.ts';
import { PebsEvents } from './pebs-events.ts';
import { ProcessCode } from './process-code.ts';
import { PtQueue, RUN_FULL, RUN_NEEDS_BYTES, RUN_NEEDS_CODE } from './pt-queue.ts';
import { QueueLog } from './queue-log.ts';
import { QuickQueue } from './quick-queue.ts';
import { RecordBuffer } from './record-buffer.ts';
import { RecordedSamples } from './recorded-samples.ts';
import { addSyntheticEvents } from './synthetic-events.ts';
import { errorText } from './trace-errors.ts';
import { type TraceOutcome, traceOutcome } from './trace-outcome.ts';
import type { FoundTrace, ReadyRequest } from './trace-request.ts';
import { type SamplingPlan, TraceSampler } from './trace-sampler.ts';
import { type TracedThread, TracedThreads } from './traced-threads.ts';

/** Bytes that are decoded in one go. */
const SLICE_BYTES = 1 << 18;
const DENSE_SLICE_BYTES = 1 << 12;
/** Instructions, or ticks, between samples below which there are very many. */
const DENSE_PERIOD = 1 << 10;

/** A queue with where its bytes come from. */
interface RunningQueue {
  readonly source: AuxQueue;
  readonly queue: PtQueue | QuickQueue;
  readonly stretches: AsyncGenerator<AuxStretch, void, undefined>;
  thread: TracedThread;
  isDone: boolean;
  /** It has come to the time that it was run to. */
  isThere: boolean;
}

/** All that is known while the Intel PT of a recording is decoded. */
export class PtDecoding {
  readonly #reader: PerfDataReader;
  readonly #sink: RecordSink;
  readonly #request: ReadyRequest;
  readonly #info: PtInfo;
  readonly #index: AuxIndex;
  readonly #attrs: readonly PerfEventAttr[];
  readonly #scan: SourceScanOptions;
  readonly #machine = new Machine();
  readonly #code: ProcessCode;
  readonly #threads: TracedThreads;
  readonly #recorded: RecordedSamples;
  readonly #clock: PerfClock | null;
  readonly #pebsClock: PerfClock | null;
  #pebsEvents: PebsEvents | null = null;
  #plan: SamplingPlan | null = null;
  #queues: RunningQueue[] = [];
  readonly #log: DecodingLog | null;
  /** How far all queues have come, nanoseconds. */
  #reachedNs = -Infinity;
  #decodedBytes = 0;
  #isKernelOpen = false;

  constructor(
    reader: PerfDataReader,
    sink: RecordSink,
    request: ReadyRequest,
    found: FoundTrace,
    scan: SourceScanOptions,
  ) {
    const { info, index, attrs } = found;
    this.#reader = reader;
    this.#sink = sink;
    this.#request = request;
    this.#info = info;
    this.#index = index;
    this.#attrs = attrs;
    this.#scan = scan;
    const buildIds = new Map((reader.features.buildIds ?? []).map(({ path, buildId }) => [path, buildId]));
    this.#code = new ProcessCode(
      this.#machine,
      request.files,
      (path) => buildIds.get(path) ?? '',
      request.acceptUnverified?.({
        hostname: reader.features.hostname ?? null,
        osRelease: reader.features.osRelease ?? null,
      }) ?? true,
    );
    this.#threads = new TracedThreads(this.#machine, this.#ringSize());
    this.#recorded = new RecordedSamples(request.options, reader.littleEndian);
    const hasTsc = attrs.some(({ config }) => (config & info.tscBit) !== 0n);
    const { timeless, log } = request.options;
    this.#log =
      log === null || request.writeLog === undefined
        ? null
        : new DecodingLog(request.writeLog, log.onlyErrors);
    const clock = info.clock ?? index.timeConversion;
    // The kernel counts in 64 bits that wrap: a zero that lies before the machine's start is a negative one.
    this.#pebsClock = clock === null ? null : { ...clock, timeZero: BigInt.asIntN(64, clock.timeZero) };
    this.#clock = timeless || !hasTsc ? null : this.#pebsClock;
  }

  /** Make the events of the samples, once those of the recording are known. */
  addEvents(): void {
    if (this.#plan !== null) return;
    const { options } = this.#request;
    const traceEvent = this.#traceEvents()[0] ?? this.#reader.events.events[0];
    if (traceEvent === undefined) return;
    this.#recorded.addEvents(this.#reader.events);
    this.#pebsEvents = new PebsEvents(this.#reader.events.events);
    const events = addSyntheticEvents(this.#reader, traceEvent, options, {
      hasTime: this.#clock !== null,
      isPerCpu: this.#info.isPerCpu,
      hasInterruptFlag: this.#hasInterruptFlag(traceEvent),
    });
    this.#plan = {
      options,
      events,
      periodTicks: periodTicks(options, this.#info.clock ?? this.#clock),
      skip: options.skip,
      pebs: options.other ? this.#pebsEvents : null,
      errors: new Map(),
      clock: this.#clock,
      pebsClock: this.#pebsClock,
      nominalRatio: this.#info.maxNonTurboRatio,
      countsCycles: this.#countsCycles(),
      ratioKhz: ratioKhz(this.#clock ?? this.#info.clock, this.#info.maxNonTurboRatio),
    };
    const flow = {
      errata: this.#errata(),
      settings: this.#timeSettings(traceEvent),
      interruptFlags: this.#hasInterruptFlag(traceEvent),
    };
    this.#queues = auxQueues(this.#index.pieces).map((source, index): RunningQueue => {
      const thread = this.#threads.find(-1, source.tid, source.cpu);
      const sampler = new TraceSampler(this.#plan!, new RecordBuffer(this.#reader.littleEndian), thread);
      const image = this.#code.imageOf(thread.pid);
      const queueOptions = {
        flow,
        usesGraph: this.#usesGraph(traceEvent),
        sliceBytes: this.#sliceBytes(),
        cpu: source.cpu,
        signal: this.#scan.signal,
        log: this.#queueLog(index, source),
      };
      const queue =
        options.quick > 0
          ? new QuickQueue(sampler, image, queueOptions, options.quick > 1)
          : new PtQueue(sampler, image, queueOptions);
      queue.setThread(thread);
      const stretches = readStretches(source, this.#request.bytes, {
        isSnapshot: this.#info.isSnapshot,
        findMark: (bytes, from) => findPsb(bytes, from, bytes.length),
        findLastMark: (bytes, before) => findPsbBackward(bytes, 0, before),
      });
      return { source, queue, stretches, thread, isDone: false, isThere: false };
    });
  }

  #queueLog(index: number, { cpu, tid }: AuxQueue): QueueLog | undefined {
    if (this.#log === null) return undefined;
    const place = `${cpu >= 0 ? `, cpu ${cpu}` : ''}${tid >= 0 ? `, thread ${tid}` : ''}`;
    return new QueueLog(this.#log, `queue ${index}${place}`, this.#errata());
  }

  /**
   * Decode everything up to a time. Without a clock nothing is known of times: that
   * waits for the end of threads.
   */
  async advance(untilNs: number): Promise<void> {
    if (this.#clock === null || untilNs <= this.#reachedNs) return;
    this.#reachedNs = untilNs;
    await this.#runAll(this.#queues, untilNs);
  }

  /** Where times are not known, a thread's trace belongs to the code that it had at its end. */
  async beforeExit(view: DataView, start: number, end: number): Promise<void> {
    if (this.#clock !== null) return;
    const { tid } = this.#decode(view, start, end) as ExitRecord;
    await this.#runAll(
      this.#queues.filter(({ source }) => source.tid === tid),
      Infinity,
    );
  }

  /** What a record says of processes and of who runs where. */
  observe(view: DataView, start: number, end: number, type: number): void {
    if (this.#log !== null && this.#request.options.log?.records === true)
      this.#log.line(recordLine(this.#decode(view, start, end)));
    if (SIDEBAND_TYPES.has(type)) {
      this.#machine.record(this.#decode(view, start, end));
      for (const running of this.#queues) this.#refresh(running);
    } else if (type === PERF_RECORD_ITRACE_START) {
      const { pid, tid, sampleId } = this.#decode(view, start, end) as ItraceStartRecord;
      this.#switchTo(sampleId?.cpu ?? -1, pid, tid);
    } else if (type === PERF_RECORD_SWITCH) {
      const { misc, sampleId } = this.#decode(view, start, end);
      if ((misc & PERF_RECORD_MISC_SWITCH_OUT) === 0)
        this.#switchTo(sampleId?.cpu ?? -1, sampleId?.pid ?? -1, sampleId?.tid ?? -1);
    } else if (type === PERF_RECORD_SWITCH_CPU_WIDE) {
      const { misc, sampleId, nextOrPreviousPid, nextOrPreviousTid } = this.#decode(
        view,
        start,
        end,
      ) as SwitchCpuWideRecord;
      const isOut = (misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0;
      if (isOut) this.#switchTo(sampleId?.cpu ?? -1, nextOrPreviousPid, nextOrPreviousTid);
      else this.#switchTo(sampleId?.cpu ?? -1, sampleId?.pid ?? -1, sampleId?.tid ?? -1);
    } else if (type === PERF_RECORD_AUX_OUTPUT_HW_ID) {
      const { hardwareId, sampleId } = this.#decode(view, start, end) as AuxOutputHwIdRecord;
      this.#setCounter(Number(hardwareId), sampleId);
    } else if (type === PERF_RECORD_EXIT) {
      const { pid, tid } = this.#decode(view, start, end) as ExitRecord;
      this.#threads.forget(pid, tid);
      if (pid === tid) this.#code.forget(pid);
    }
  }

  /**
   * A recorded sample with what the trace knows of it; the record as it is where
   * nothing is to be added. Borrowed.
   */
  completeSample(view: DataView, start: number, end: number): Uint8Array<ArrayBuffer> | null {
    const { events, littleEndian } = this.#reader;
    const event = events.eventOf(view, start, end, PERF_RECORD_SAMPLE, littleEndian);
    if (event === null || !this.#recorded.has(event)) return null;
    return this.#recorded.rewrite(view, start, end, event, ({ pid, tid, cpu }) =>
      this.#threads.find(pid ?? -1, tid ?? -1, cpu ?? -1),
    );
  }

  /** The records are over: what is left of the trace. */
  async finish(): Promise<void> {
    this.addEvents();
    if (this.#clock !== null) await this.#runAll(this.#queues, Infinity);
    else for (const running of this.#queues) await this.#runAll([running], Infinity);
  }

  async close(): Promise<void> {
    this.#log?.close();
    await this.#code.close();
    for (const { stretches } of this.#queues) await stretches.return();
  }

  outcome(): TraceOutcome {
    const errors = [...(this.#plan?.errors ?? [])]
      .sort((a, b) => a[0] - b[0])
      .map(([code, count]) => ({ code, text: errorText(code), count }));
    const notDone = lettersNotDone(this.#request.options, this.#pebsEvents, {
      hasLog: this.#log !== null,
      hasCyc: this.#queues.some(({ queue }) => queue.sampler.cycles?.hasCyc === true),
    });
    return traceOutcome(errors, [...notDone, ...this.#code.diagnostics], this.#decodedBytes);
  }

  async #runAll(queues: RunningQueue[], untilNs: number): Promise<void> {
    await this.#openCode(queues);
    for (const running of queues) {
      running.isThere = running.isDone;
      if (!running.isDone) this.#refresh(running);
    }
    for (;;) {
      let safeNs = untilNs;
      let isWaiting = false;
      for (const running of queues) {
        if (!running.isThere) await this.#runOne(running, untilNs);
        if (running.isThere) continue;
        isWaiting = true;
        safeNs = Math.min(safeNs, running.queue.timeNs);
      }
      this.#deliver(queues, isWaiting ? safeNs : untilNs);
      if (!isWaiting) return;
      await this.#scan.onChunk?.();
    }
  }

  /**
   * What has to be read before anything is decoded: the kernel, once, and dumps of code that
   * processes have mapped by now.
   */
  async #openCode(queues: readonly RunningQueue[]): Promise<void> {
    if (!this.#isKernelOpen) {
      this.#isKernelOpen = true;
      const isTraced = this.#attrs.some(({ flags }) => flags.excludeKernel === 0);
      if (isTraced) await this.#code.openKernel(this.#kernelBuildId());
    }
    for (const running of queues) this.#refresh(running);
    if (this.#code.wantsDumps) await this.#code.openDumps();
  }

  #kernelBuildId(): string {
    const ids = this.#reader.features.buildIds ?? [];
    return ids.find(({ path }) => path.startsWith('[kernel.kallsyms]'))?.buildId ?? '';
  }

  /** Until it is there, or its buffer is full. */
  async #runOne(running: RunningQueue, untilNs: number): Promise<void> {
    const { queue } = running;
    for (;;) {
      const why = queue.run(untilNs);
      if (why === RUN_FULL) return;
      if (why === RUN_NEEDS_CODE) await this.#code.load(queue.image);
      else if (why === RUN_NEEDS_BYTES) {
        const next = await running.stretches.next();
        if (next.done === true) {
          running.isDone = true;
          running.isThere = true;
          return;
        }
        this.#decodedBytes += next.value.bytes.length;
        queue.begin(next.value);
      } else {
        running.isThere = true;
        return;
      }
    }
  }

  /** Everything that was made up to a time, in order; queues that are full give what they can. */
  #deliver(queues: readonly RunningQueue[], untilNs: number): void {
    const sink = this.#sink;
    const take = (view: DataView, start: number, end: number, type: number): void =>
      sink.record(view, start, end, type, 0);
    if (queues.length === 1) {
      const { buffer } = queues[0]!.queue.sampler;
      while (buffer.length > 0) buffer.deliver(take);
      return;
    }
    for (;;) {
      let first: RecordBuffer | null = null;
      for (const { queue } of queues) {
        const { buffer } = queue.sampler;
        if (buffer.length === 0 || buffer.firstTimeNs > untilNs) continue;
        if (first === null || buffer.firstTimeNs < first.firstTimeNs) first = buffer;
      }
      if (first === null) return;
      first.deliver(take);
    }
  }

  #switchTo(cpu: number, pid: number, tid: number): void {
    if (tid < 0) return;
    for (const running of this.#queues) {
      if (running.source.cpu < 0 || running.source.cpu !== cpu) continue;
      running.thread = this.#threads.find(pid, tid, cpu);
      this.#refresh(running);
    }
  }

  /** From now on this counter of the queue is that event's. */
  #setCounter(counter: number, sampleId: SampleId | undefined): void {
    const id = Number(sampleId?.id ?? 0n);
    const event = this.#reader.events.findId(id);
    if (event === null || event.attr.flags.auxOutput === 0) return;
    for (const { source, queue } of this.#queues) {
      const isHere = source.cpu >= 0 ? source.cpu === sampleId?.cpu : source.tid === sampleId?.tid;
      if (isHere) queue.sampler.pebsCounters.set(counter, { event, id });
    }
  }

  /** The thread and its code as they are now. */
  #refresh(running: RunningQueue): void {
    const { source, queue } = running;
    // A thread's process is known only after the first record about it.
    if (source.tid >= 0) running.thread = this.#threads.find(-1, source.tid, source.cpu);
    queue.setThread(running.thread);
    queue.setImage(this.#code.imageOf(running.thread.pid));
  }

  #decode(view: DataView, start: number, end: number): ReturnType<typeof decodeRecord> {
    const { events, littleEndian } = this.#reader;
    const type = view.getUint32(start, littleEndian);
    const event = events.eventOf(view, start, end, type, littleEndian) ?? events.events[0] ?? null;
    return decodeRecord(view, start, end - start, event?.layout ?? null, littleEndian);
  }

  /**
   * Last branches that threads keep: for recorded samples also those between the sample and where it was
   * written down. 1024 where the kernel is traced (perf measured 200), one where it is not.
   */
  #ringSize(): number {
    const { lastBranches, recordedLastBranches } = this.#request.options;
    if (recordedLastBranches === 0) return lastBranches;
    const isKernelTraced = this.#attrs.some(({ flags }) => flags.excludeKernel === 0);
    return Math.max(lastBranches, recordedLastBranches + (isKernelTraced ? 1024 : 1));
  }

  #traceEvents(): RecordedEvent[] {
    return this.#reader.events.events.filter(({ attr }) => attr.type === this.#info.pmuType);
  }

  /**
   * Not where the kernel is traced, too: threads change in the middle of its code, and only the exact decoder
   * stops there. Nor for errata that make packets mean something else.
   */
  #usesGraph(traceEvent: RecordedEvent): boolean {
    const { skd007, skl168, bdm64 } = this.#errata();
    const isUserOnly = traceEvent.attr.flags.excludeKernel !== 0;
    const isUsable = (isUserOnly || this.#info.schedSwitch === 0) && !skd007 && !skl168 && !bdm64;
    // Which instruction cycles belong to only the exact decoder tells, and it has
    // each instruction for the log.
    return isUsable && !this.#countsCycles() && this.#log === null;
  }

  /** Every change of the interrupt flag is told: only with event trace. */
  #hasInterruptFlag({ attr }: RecordedEvent): boolean {
    return this.#info.hasEventTrace && (attr.config & PT_CONFIG_EVENT_TRACE) !== 0n;
  }

  #countsCycles(): boolean {
    const { options } = this.#request;
    return this.#scan.countsCycles === true || options.cycles || options.approximateIpc;
  }

  /**
   * How much is decoded before what was made of it is given on: little where each
   * instruction, or branch, is a sample.
   */
  #sliceBytes(): number {
    const { events, periodTicks, options } = this.#plan!;
    const isDense =
      events.branches !== null ||
      events.calls !== null ||
      (events.instructions !== null && periodTicks < DENSE_PERIOD && options.period < DENSE_PERIOD);
    return isDense ? DENSE_SLICE_BYTES : SLICE_BYTES;
  }

  #errata(): Errata {
    // "GenuineIntel,6,85,4"
    const [vendor, ...numbers] = (this.#reader.features.cpuId ?? '').split(',');
    const cpu = vendor === 'GenuineIntel' ? parseCpu(numbers.slice(0, 3).join('/')) : null;
    return (cpu === null ? null : errataOf(cpu)) ?? NO_ERRATA;
  }

  #timeSettings({ attr }: RecordedEvent) {
    const { mtcFreqBits, maxNonTurboRatio, tscCtcNumerator, tscCtcDenominator } = this.#info;
    const lowest = mtcFreqBits & -mtcFreqBits;
    return {
      mtcFreq: lowest === 0n ? 0 : Number((attr.config & mtcFreqBits) / lowest) & 15,
      nomFreq: maxNonTurboRatio,
      cpuid0x15Eax: tscCtcDenominator,
      cpuid0x15Ebx: tscCtcNumerator,
      errata: this.#errata(),
    };
  }
}

/** As perf: the period is rounded down to a power of two ticks. */
function periodTicks(options: ItraceOptions, clock: PerfClock | null): number {
  const { period, periodUnit } = options;
  if (periodUnit === 'instructions' || period === 0) return 0;
  const ticks =
    periodUnit === 'ticks' || clock === null || clock.timeMult === 0
      ? period
      : Math.floor((period * 2 ** clock.timeShift) / clock.timeMult);
  return 2 ** Math.floor(Math.log2(Math.max(1, ticks)));
}

/** The bus's clock: that of the TSC, divided by the ratio that the TSC runs at. */
function ratioKhz(clock: PerfClock | null, nominalRatio: number): number {
  if (clock === null || clock.timeMult === 0 || nominalRatio === 0) return 0;
  const ticksPerSecond = (1e9 * 2 ** clock.timeShift) / clock.timeMult;
  return Math.floor(ticksPerSecond / nominalRatio / 1000);
}

/** A record of the kernel, for the log. */
function recordLine({ type, sampleId }: ReturnType<typeof decodeRecord>): string {
  const of = sampleId?.pid === undefined ? '' : ` ${sampleId.pid}/${sampleId.tid ?? -1}`;
  const cpu = sampleId?.cpu === undefined ? '' : ` cpu ${sampleId.cpu}`;
  const time = sampleId?.time === undefined ? '' : ` at ${sampleId.time} ns`;
  return `record ${recordTypeName(type)}${of}${cpu}${time}`;
}
