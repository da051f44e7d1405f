/**
 * From what was executed to samples: instructions come in here one after the other, branches with where they
 * went, and what else the trace tells; out go records in a buffer.
 */
import {
  PERF_IP_FLAG_ASYNC,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_IN_TX,
  PERF_IP_FLAG_INTR_TOGGLE,
  PERF_IP_FLAG_RETURN,
  PERF_IP_FLAG_TRACE_BEGIN,
  PERF_IP_FLAG_TRACE_END,
  PERF_IP_FLAG_TX_ABORT,
} from '@counterpoint/core/abi';
import { TWO_32 } from '@counterpoint/core/base';
import type { RecordedEvent } from '@counterpoint/core/perfdata';
import {
  PEBS_BASIC,
  PEBS_BASIC_COUNTERS,
  type PebsRecord,
  type PerfClock,
  type TraceClock,
  tscToPerfNs,
} from '../../pt/index.ts';
import { CycleCount, SinceSample } from './cycle-count.ts';
import type { ItraceOptions } from './itrace-options.ts';
import type { PebsCounters, PebsEvents } from './pebs-events.ts';
import { writePebsSample } from './pebs-sample.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { SyntheticEvents } from './synthetic-events.ts';
import { SyntheticSample, writeSample } from './synthetic-sample.ts';
import { ERROR_LOST, ERROR_OVERFLOW, writeTraceError } from './trace-errors.ts';
import { putRatio } from './trace-events.ts';
import type { TracedThread } from './traced-threads.ts';

/** Samples that may come of one branch: before these a new ratio is told. */
const MOST_AFTER_RATIO = 4;

/** What all queues of a recording share. */
export interface SamplingPlan {
  readonly options: ItraceOptions;
  readonly events: SyntheticEvents;
  /** Ticks of the TSC between two samples; 0 where they are counted in instructions. */
  readonly periodTicks: number;
  /** Samples that are still to be left out (`s`). */
  skip: number;
  /** The events of PEBS records in the trace; null where they are not asked for. */
  readonly pebs: PebsEvents | null;
  /** Errors by perf's code. */
  readonly errors: Map<number, number>;
  /** Null: times are not known. */
  readonly clock: PerfClock | null;
  /** The same, also where the trace is to be decoded without times: a PEBS record has its own. */
  readonly pebsClock: PerfClock | null;
  /** The TSC in units of the bus's clock; 0: not known. And one such unit, kHz. */
  readonly nominalRatio: number;
  readonly ratioKhz: number;
  /** Samples tell of cycles. */
  readonly countsCycles: boolean;
}

/** Branches that change which calls are open. */
const CALL_STEPS = PERF_IP_FLAG_CALL | PERF_IP_FLAG_RETURN | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_TRACE_BEGIN;
/** The longest call chain with its markers: 32 KiB of the 64 that a record may have. */
const MOST_STEP_FRAMES = 4096;

export class TraceSampler {
  readonly sample = new SyntheticSample();
  readonly buffer: RecordBuffer;
  /** Which event has which counter, in this queue, now. */
  readonly pebsCounters: PebsCounters = new Map();
  thread: TracedThread;
  /** TSC of the last timing packet. */
  #ticks = 0;
  /**
   * The latest of them all: time does not go back behind an estimate that was ahead, whether a sample was
   * made then or not. When something happened else depended on who asked before.
   */
  #latestLo = 0;
  #latestHi = 0;
  #isTimeNew = false;
  /** That of the last timing packet, until `reachTime`. */
  #waitingLo = 0;
  #waitingHi = 0;
  #isTimeWaiting = false;
  #instructionsSinceTime = 0;
  readonly #plan: SamplingPlan;
  readonly #instructionPeriod: number;
  readonly #branchFilter: number;
  readonly #countsInstructions: boolean;
  #executed = 0;
  #executedAtSample = 0;
  #executedAtError = -1;
  #lastError = 0;
  #lastErrorNs = Number.NaN;
  #sincePeriod = 0;
  /** Instructions until a sample is due; 0: to be found. */
  #leftInPeriod = 0;
  /**
   * The last tick, in periods, that had a sample; and whether samples follow each
   * other since the trace went on.
   */
  #lastPeriod = 0;
  #isContinuous = false;
  /** The core's clock in units of the bus's; 0: not known. */
  #ratio = 0;
  /** A sample of the ratio is to be made. */
  #isRatioNew = false;
  /** Where the branch or sample before was: the place of what has none of its own. */
  #lastLo = 0;
  #lastHi = 0;
  /** Null where nobody wants them. */
  readonly cycles: CycleCount | null;
  /** PERF_IP_FLAG_INTR_DISABLE while they are. */
  interruptFlag = 0;
  /** The instruction, or branch, that comes is one at which the cycles are known. */
  areCyclesKnown = false;
  readonly #sinceInstruction = new SinceSample();
  readonly #sinceCycles = new SinceSample();
  readonly #sinceBranch = new SinceSample();

  constructor(plan: SamplingPlan, buffer: RecordBuffer, thread: TracedThread) {
    this.#plan = plan;
    this.buffer = buffer;
    this.thread = thread;
    const { options, events } = plan;
    this.#countsInstructions = events.instructions !== null || events.cycles !== null;
    this.cycles = plan.countsCycles ? new CycleCount(plan.nominalRatio) : null;
    this.#instructionPeriod = plan.periodTicks > 0 ? 0 : Math.max(1, options.period);
    this.#branchFilter =
      (options.calls ? PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_TRACE_END : 0) |
      (options.returns ? PERF_IP_FLAG_RETURN | PERF_IP_FLAG_TRACE_BEGIN : 0);
  }

  /**
   * A timing packet. Periods count from it on. Samples have its time with the branch or event that the packet
   * behind it tells of, as perf's do: what is executed on the way there may have been before it.
   *
   *     packets    TNT          MTC              TNT
   *     executed   ── je ─────── · ─ mov ─ add ─ jne ── ...
   *     times      old           old   old   old new
   */
  setTime(tscLo: number, tscHi: number): void {
    if (this.#plan.clock === null) return;
    const lo = tscLo >>> 0;
    const hi = tscHi >>> 0;
    this.#ticks = hi * TWO_32 + lo;
    this.#instructionsSinceTime = 0;
    this.#leftInPeriod = 0;
    this.#isTimeWaiting = hi > this.#latestHi || (hi === this.#latestHi && lo > this.#latestLo);
    this.#waitingLo = lo;
    this.#waitingHi = hi;
  }

  /** What the packet behind the last timing packet tells of is reached. */
  reachTime(): void {
    if (!this.#isTimeWaiting) return;
    this.#isTimeWaiting = false;
    this.#latestLo = this.#waitingLo;
    this.#latestHi = this.#waitingHi;
    this.#isTimeNew = true;
  }

  /** There is a time that is not reached yet. */
  get isTimeWaiting(): boolean {
    return this.#isTimeWaiting;
  }

  /** `timeNs`, as soon as the time of the last timing packet is reached. */
  get nextTimeNs(): number {
    return this.#isTimeWaiting ? this.timeNsOf(this.#waitingLo, this.#waitingHi) : this.timeNs;
  }

  /** `timeNs` at a TSC. */
  timeNsOf(tscLo: number, tscHi: number): number {
    const { clock } = this.#plan;
    return clock === null ? this.timeNs : Math.max(this.timeNs, tscToPerfNs(clock, tscLo >>> 0, tscHi >>> 0));
  }

  /**
   * Nanoseconds on the recording's clock; 0 where times are not known. Never less than before:
   * an estimate was ahead then.
   */
  get timeNs(): number {
    const { sample } = this;
    if (this.#isTimeNew) {
      this.#isTimeNew = false;
      const { clock } = this.#plan;
      if (clock !== null)
        sample.timeNs = Math.max(sample.timeNs, tscToPerfNs(clock, this.#latestLo, this.#latestHi));
    }
    return sample.timeNs;
  }

  setThread(thread: TracedThread, cpu: number): void {
    this.thread = thread;
    this.sample.pid = thread.pid;
    this.sample.tid = thread.tid;
    this.sample.cpu = cpu;
  }

  get events(): SyntheticEvents {
    return this.#plan.events;
  }

  /** A PEBS record is whole: a sample for each counter that it is of. The address is where the trace is. */
  putPebs(record: PebsRecord, ipLo: number, ipHi: number): void {
    const { sample, thread, pebsCounters } = this;
    const plan = this.#plan;
    const { pebs, options } = plan;
    if (pebs === null) return;
    const maskLo = record.loOf(PEBS_BASIC, PEBS_BASIC_COUNTERS);
    const maskHi = record.hiOf(PEBS_BASIC, PEBS_BASIC_COUNTERS);
    const { timeNs } = this;
    for (const { event, id } of pebs.targetsOf(pebsCounters, maskLo, maskHi)) {
      if (this.#isSkipped()) continue;
      sample.ipLo = ipLo;
      sample.ipHi = ipHi;
      sample.flags = 0;
      sample.instructionBytes = 0;
      sample.timeNs = timeNs;
      const { pebsClock: clock } = plan;
      writePebsSample(this.buffer, event, id, record, {
        place: sample,
        thread,
        clock,
        callChain: options.callChain,
        lastBranches: options.lastBranches,
      });
    }
    sample.timeNs = timeNs;
  }

  setRatio(ratio: number): void {
    if (ratio === this.#ratio) return;
    this.#ratio = ratio;
    this.cycles?.setRatio(ratio, this.#ticks);
    this.#isRatioNew = true;
    this.#tellRatio(this.#lastLo, this.#lastHi);
  }

  /**
   * A new ratio is not skipped (`s`), but waits until it is nearly the turn of the
   * first sample, as perf has it.
   */
  #tellRatio(ipLo: number, ipHi: number): void {
    if (!this.#isRatioNew || this.#plan.skip > MOST_AFTER_RATIO) return;
    this.#isRatioNew = false;
    const { skip } = this.#plan;
    this.#plan.skip = 0;
    putRatio(this, this.#ratio, this.#plan.nominalRatio, this.#plan.ratioKhz, ipLo, ipHi);
    this.#plan.skip = skip;
  }

  /** Something happened there that a sample can be of. */
  arrive(ipLo: number, ipHi: number): void {
    this.#lastLo = ipLo;
    this.#lastHi = ipHi;
    this.#tellRatio(ipLo, ipHi);
  }

  /** How far the clock and the cycles have come with the event that is next. */
  moveCycles(clock: TraceClock, isTraced: boolean): void {
    this.cycles?.update(clock, this.#ticks, isTraced);
  }

  /**
   * Back in user code: how long ago the last timing packet was is estimated, with two cycles an instruction.
   * As perf does, so that context switches in between are on the right side.
   */
  estimateTime(): void {
    const { clock, nominalRatio } = this.#plan;
    if (clock === null) return;
    const cycles = this.#instructionsSinceTime * 2;
    const ticks =
      this.#ratio === 0 || nominalRatio === 0 ? cycles : Math.floor((cycles * nominalRatio) / this.#ratio);
    const tsc = this.#ticks + ticks;
    const hi = Math.floor(tsc / TWO_32);
    const timeNs = tscToPerfNs(clock, tsc - hi * TWO_32, hi);
    this.sample.timeNs = Math.max(this.timeNs, timeNs);
  }

  /** Nothing of before leads here: a gap in the trace. */
  cut(): void {
    this.#leftInPeriod = 0;
    this.#isContinuous = false;
  }

  /** Every branch is wanted, not only calls and returns. */
  get needsBranches(): boolean {
    return this.#plan.events.branches !== null || this.thread.branches !== null || this.#isRatioWaiting;
  }

  get #isRatioWaiting(): boolean {
    return this.#isRatioNew && this.#plan.events.cbr !== null;
  }

  /** Samples of branches show the instruction. */
  get writesBranches(): boolean {
    return this.#plan.events.branches !== null;
  }

  /**
   * Count `count` instructions, none of which makes a sample. False, and nothing is counted, if one may.
   */
  skipInstructions(count: number): boolean {
    const { periodTicks } = this.#plan;
    if (this.#countsInstructions && periodTicks === 0) {
      if (this.#sincePeriod + count >= this.#instructionPeriod) return false;
      this.#sincePeriod += count;
    } else if (this.#countsInstructions) {
      if (this.#leftInPeriod === 0) this.#leftInPeriod = this.#untilNextPeriod(periodTicks);
      if (count >= this.#leftInPeriod) return false;
      this.#leftInPeriod -= count;
    }
    this.#executed += count;
    this.#instructionsSinceTime += count;
    return true;
  }

  /** One more instruction was executed. True where it makes a sample, which `putInstruction` then writes. */
  isSampled(): boolean {
    const { periodTicks } = this.#plan;
    if (this.#countsInstructions && periodTicks > 0 && this.#leftInPeriod === 0)
      this.#leftInPeriod = this.#untilNextPeriod(periodTicks);
    this.#executed++;
    this.#instructionsSinceTime++;
    if (!this.#countsInstructions) return false;
    if (periodTicks === 0) {
      if (++this.#sincePeriod < this.#instructionPeriod) return false;
      this.#sincePeriod = 0;
      return true;
    }
    if (--this.#leftInPeriod > 0) return false;
    const period = Math.floor((this.#ticks + this.#instructionsSinceTime) / periodTicks);
    this.#lastPeriod = Math.max(period, this.#lastPeriod + 1);
    return true;
  }

  /**
   * Instructions until the next sample is due, as perf counts them: an instruction is a tick, and where the
   * trace began or went on the first period is only found, not sampled.
   */
  #untilNextPeriod(periodTicks: number): number {
    let ticks = this.#ticks + this.#instructionsSinceTime;
    if (this.#isContinuous) {
      if (Math.floor(ticks / periodTicks) > this.#lastPeriod) return 1;
    } else {
      ticks++;
      const period = Math.floor(ticks / periodTicks);
      if (period > this.#lastPeriod) {
        this.#lastPeriod = period;
        this.#isContinuous = true;
      }
    }
    const period = Math.floor(ticks / periodTicks);
    return period < this.#lastPeriod ? periodTicks : periodTicks - (ticks - period * periodTicks);
  }

  /** `flags` of a branch, gone or not. */
  putInstruction(ipLo: number, ipHi: number, flags = 0): void {
    const { sample } = this;
    const plan = this.#plan;
    const { instructions, cycles } = plan.events;
    this.arrive(ipLo, ipHi);
    sample.ipLo = ipLo;
    sample.ipHi = ipHi;
    sample.addrLo = 0;
    sample.addrHi = 0;
    sample.flags = flags | this.interruptFlag;
    if (instructions !== null && !this.#isSkipped()) {
      sample.period = plan.options.quick > 0 ? 1 : this.#executed - this.#executedAtSample;
      this.#executedAtSample = this.#executed;
      this.#setCycles(this.#sinceInstruction);
      this.#put(instructions);
    }
    const period = this.#sinceCycles.cyclesTo(this.#cyclesNow);
    if (cycles !== null && this.#hasCycles && period > 0 && !this.#isSkipped()) {
      sample.period = period;
      this.#setCycles(this.#sinceCycles);
      this.#put(cycles);
    }
    sample.cycles = 0;
  }

  /** Are the cycles known here, or close enough (`A`)? */
  get #hasCycles(): boolean {
    const { cycles } = this;
    if (cycles === null) return false;
    return this.areCyclesKnown || !cycles.hasCyc || this.#plan.options.approximateIpc;
  }

  get #cyclesNow(): number {
    const { cycles } = this;
    if (cycles === null) return 0;
    return this.#plan.options.approximateIpc ? cycles.used : cycles.sampled;
  }

  #setCycles(since: SinceSample): void {
    const { sample } = this;
    const taken = this.#hasCycles ? since.take(this.#executed, this.#cyclesNow) : null;
    sample.instructions = taken?.instructions ?? 0;
    sample.cycles = taken?.cycles ?? 0;
  }

  /**
   * A branch that was gone; 0 for a place that the trace does not know.
   * `sample.instruction` is the one at `from`.
   */
  branch(flags: number, fromLo: number, fromHi: number, toLo: number, toHi: number): void {
    const { thread, sample } = this;
    const plan = this.#plan;
    this.#leftInPeriod = 0;
    this.arrive(fromLo, fromHi);
    thread.branches?.add(
      fromLo,
      fromHi,
      toLo,
      toHi,
      (flags & PERF_IP_FLAG_TX_ABORT) !== 0,
      (flags & PERF_IP_FLAG_IN_TX) !== 0,
    );
    thread.calls.branch(flags, fromLo, fromHi, toLo, toHi, sample.instructionBytes);
    const { branches, calls } = plan.events;
    if (calls !== null && (flags & CALL_STEPS) !== 0) this.#putCallStep(calls, toLo, toHi);
    if (branches === null || (this.#branchFilter !== 0 && (flags & this.#branchFilter) === 0)) return;
    if (this.#isSkipped()) return;
    sample.ipLo = fromLo;
    sample.ipHi = fromHi;
    sample.addrLo = toLo;
    sample.addrHi = toHi;
    // A change says itself what was before.
    sample.flags = (flags & PERF_IP_FLAG_INTR_TOGGLE) !== 0 ? flags : flags | this.interruptFlag;
    sample.period = 1;
    this.#setCycles(this.#sinceBranch);
    this.#put(branches);
    sample.cycles = 0;
  }

  /** The calls that are open now, and where the program is. Where that is not traced, nothing changes. */
  #putCallStep(calls: RecordedEvent, toLo: number, toHi: number): void {
    if ((toLo === 0 && toHi === 0) || this.#isSkipped()) return;
    const { sample, thread } = this;
    const { flags, instructionBytes } = sample;
    sample.ipLo = toLo;
    sample.ipHi = toHi;
    sample.flags = 0;
    sample.instructionBytes = 0;
    sample.period = 1;
    sample.timeNs = this.timeNs;
    writeSample(this.buffer, calls, sample, thread.calls, MOST_STEP_FRAMES, null, 0);
    sample.flags = flags;
    sample.instructionBytes = instructionBytes;
  }

  /** An event of its own, such as PTWRITE, with its bytes. */
  putEvent(event: RecordedEvent | null, ipLo: number, ipHi: number, raw: Uint8Array | null, flags = 0): void {
    if (event === null || this.#isSkipped()) return;
    const { sample } = this;
    sample.ipLo = ipLo;
    sample.ipHi = ipHi;
    sample.addrLo = 0;
    sample.addrHi = 0;
    sample.flags = flags;
    sample.period = 1;
    sample.raw = raw;
    this.#put(event);
    sample.raw = null;
  }

  /** `code` is perf's. */
  error(code: number, ipLo: number, ipHi: number): void {
    const { sample } = this;
    const plan = this.#plan;
    const { options, errors } = plan;
    errors.set(code, (errors.get(code) ?? 0) + 1);
    this.cut();
    // Where nothing can be decoded, every packet is an error: one record tells of all of a moment.
    const isRepeated =
      this.#executed === this.#executedAtError &&
      code === this.#lastError &&
      this.timeNs === this.#lastErrorNs;
    this.#executedAtError = this.#executed;
    if (!options.errors || isRepeated) return;
    this.#lastError = code;
    this.#lastErrorNs = this.timeNs;
    if (code === ERROR_OVERFLOW && options.withoutOverflows) return;
    if (code === ERROR_LOST && options.withoutLost) return;
    const { cpu, pid, tid } = sample;
    const { timeNs } = this;
    writeTraceError(this.buffer, code, { cpu, pid, tid, timeNs, ipLo, ipHi });
  }

  #put(event: RecordedEvent): void {
    const { thread, sample } = this;
    const plan = this.#plan;
    // Worked out only where somebody wants to know.
    sample.timeNs = this.timeNs;
    const { callChain, lastBranches } = plan.options;
    writeSample(this.buffer, event, sample, thread.calls, callChain, thread.branches, lastBranches);
  }

  /** One of the first samples, which are not wanted (`s`). */
  #isSkipped(): boolean {
    const plan = this.#plan;
    if (plan.skip === 0) return false;
    plan.skip--;
    return true;
  }
}
