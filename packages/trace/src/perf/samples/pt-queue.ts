/**
 * One queue of Intel PT, decoded bit by bit: as far as the records beside it have come, so that every
 * instruction is looked for in the code, and counted to the thread, of its moment.
 *
 *   records   MMAP 10        SWITCH 20                    MMAP 35
 *   trace     [------------->|---------------------------->|-------
 *              run(10)        run(20), another thread       run(35)
 */

import {
  PERF_IP_FLAG_ASYNC,
  PERF_IP_FLAG_BRANCH,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_IN_TX,
  PERF_IP_FLAG_INTERRUPT,
  PERF_IP_FLAG_INTR_DISABLE,
  PERF_IP_FLAG_TRACE_BEGIN,
  PERF_IP_FLAG_TRACE_END,
} from '@counterpoint/core/abi';
import type { CancelSignal } from '@counterpoint/core/base';
import type { CodeImage } from '../../code/image/index.ts';
import { KIND_CALL, KIND_CONDITIONAL, KIND_JUMP } from '../../code/instructions/index.ts';
import { HandOver } from '../../pt/graph/index.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_BLOCK_BEGIN,
  EVENT_BLOCK_END,
  EVENT_BLOCK_ITEM,
  EVENT_CBR,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_IFLAGS,
  EVENT_OVERFLOW,
  type ExecutedInstruction,
  FLOW_END,
  FLOW_NO_MAP,
  FlowDecoder,
  type FlowEvent,
  type FlowOptions,
  findPsb,
  PebsRecord,
  PT_SIZE_PSB,
  STEP_EVENT,
  STEP_INSTRUCTION,
} from '../../pt/index.ts';
import type { AuxStretch } from '../auxtrace/index.ts';
import { flagsOf } from './branch-flags.ts';
import { headerIp } from './header-ip.ts';
import { isInterruptChange, putInterruptChange } from './interrupt-flag.ts';
import { copyBytes, OpenBranch } from './open-branch.ts';
import { QueueGraph } from './queue-graph.ts';
import type { QueueLog } from './queue-log.ts';
import { ERROR_OVERFLOW, errorOfFlow } from './trace-errors.ts';
import { putPsb, putTraceEvent } from './trace-events.ts';
import type { TraceSampler } from './trace-sampler.ts';
import type { TracedThread } from './traced-threads.ts';

/** Why `run` came back. */
export const RUN_UNTIL = 0;
export const RUN_FULL = 1;
export const RUN_NEEDS_CODE = 2;
export const RUN_NEEDS_BYTES = 3;

/** Records that are made before somebody should take them. */
export const MOST_RECORDS = 1 << 14;
/** A packet that does not fit in what is left of a slice waits for the next. */
const LONGEST_PACKET_BYTES = 16;
const STEPS_BETWEEN_LOOKS = 1 << 16;

export interface PtQueueOptions {
  readonly flow: FlowOptions;
  readonly cpu: number;
  /** Whole stretches may be executed at once. Bytes between two looks at what was made. */
  readonly usesGraph: boolean;
  readonly sliceBytes: number;
  readonly signal?: CancelSignal | undefined;
  /** What is read and done is written down; not with `usesGraph`. */
  readonly log?: QueueLog | undefined;
}

const ENDS_BRANCH: ReadonlySet<number> = new Set([
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_OVERFLOW,
  EVENT_IFLAGS,
]);

/** Where the instruction goes only the trace knows. */
function needsTrace(kind: number): boolean {
  return kind > KIND_CALL && kind !== KIND_JUMP;
}

/**
 * Perf's decoder comes back with it, or with the PSB+ that it is of. The rest it only takes note of, and the
 * time does not move with it.
 */
function isTold({ kind, isStatus }: Readonly<FlowEvent>): boolean {
  return isStatus || kind !== EVENT_CBR;
}

export class PtQueue {
  readonly sampler: TraceSampler;
  /** Bytes that were decoded in stretches before this one. */
  doneBytes = 0;
  readonly #options: PtQueueOptions;
  #decoder: FlowDecoder | null = null;
  #bytes = new Uint8Array(0) as Uint8Array;
  #isSynchronized = false;
  image: CodeImage;
  readonly #open = new OpenBranch();
  readonly #pebs = new PebsRecord();
  /**
   * Timing packets that the time was taken of: one with the same time says as well that time has come so far.
   */
  #clockMoves = 0;
  #hasTime = false;
  #blockedAt = -1;
  /** The change of the interrupt flag that comes was told with its branch. */
  #isChangeTold = false;
  /** A step of the decoder that is still to be told: records of before its time come first. 0: none. */
  #waitingStep = 0;
  readonly #handOver = new HandOver();
  readonly #graphs = new WeakMap<CodeImage, Map<number, QueueGraph>>();
  /** The next PSB that is to be told of; -1: none. */
  #nextPsb = -1;

  constructor(sampler: TraceSampler, image: CodeImage, options: PtQueueOptions) {
    this.sampler = sampler;
    this.image = image;
    this.#options = options;
  }

  /** Go on with these bytes. */
  begin(stretch: AuxStretch): void {
    this.doneBytes += this.#bytes.length;
    this.#bytes = stretch.bytes;
    this.#options.log?.begin(stretch.bytes, this.doneBytes, stretch.isContinued);
    this.#handOver.forgetStop();
    this.#decoder = new FlowDecoder(stretch.bytes, this.image, this.#options.flow);
    this.#isSynchronized = false;
    this.#waitingStep = 0;
    this.sampler.cycles?.rebase();
    this.#clockMoves = -1;
    this.#pebs.clear();
    this.#nextPsb = this.sampler.events.psb === null ? -1 : findPsb(this.#bytes, 0, this.#bytes.length);
    if (!stretch.isContinued) {
      this.sampler.cut();
      this.sampler.thread.calls.clear();
    }
  }

  /** How far it is, nanoseconds; 0 at first, and where times are not known. */
  get timeNs(): number {
    return this.sampler.timeNs;
  }

  get position(): number {
    return this.doneBytes + (this.#decoder?.offset ?? 0);
  }

  setImage(image: CodeImage): void {
    this.image = image;
    if (this.#decoder !== null && this.#decoder.image !== image) this.#decoder.image = image;
  }

  setThread(thread: TracedThread): void {
    this.sampler.setThread(thread, this.#options.cpu);
  }

  /**
   * Decode what happened before a time, nanoseconds: what a record says of a moment holds
   * for what was executed at it.
   */
  run(untilNs: number): number {
    const { sampler } = this;
    const decoder = this.#decoder;
    if (decoder === null) return RUN_NEEDS_BYTES;
    const { state } = decoder;
    const { log } = this.#options;
    for (let steps = 0; ; steps++) {
      if (sampler.buffer.length >= MOST_RECORDS) return RUN_FULL;
      if (steps % STEPS_BETWEEN_LOOKS === 0) this.#options.signal?.throwIfAborted();
      if (!this.#isSynchronized) {
        const code = decoder.synchronize();
        if (code === FLOW_END) return this.#leave();
        log?.synchronized(this.#bytes, state.syncOffset);
        if (code !== 0) {
          this.#fail(code);
          continue;
        }
        this.#isSynchronized = true;
      }
      if (this.#waitingStep !== 0) {
        if (sampler.timeNs >= untilNs) return RUN_UNTIL;
        const step = this.#waitingStep;
        this.#waitingStep = 0;
        this.#takeStep(decoder, step);
        continue;
      }
      const next = state.event;
      log?.packets(decoder.offset);
      if (next.hasTime && (state.clock.moves !== this.#clockMoves || !this.#hasTime))
        this.#moveTime(next.timeLo, next.timeHi);
      sampler.moveCycles(state.clock, state.isEnabled);
      if (sampler.timeNs >= untilNs) return RUN_UNTIL;
      if (this.#nextPsb >= 0 && decoder.offset > this.#nextPsb) {
        this.#closeBranch(state.ipLo, state.ipHi);
        sampler.reachTime();
        if (sampler.timeNs >= untilNs) return RUN_UNTIL;
        this.#passPsb();
      }
      // On the way to what is later than the next record the exact decoder stops where that time is reached.
      const isGraphOnTime = this.#options.usesGraph && sampler.nextTimeNs < untilNs;
      if (isGraphOnTime && this.#runGraph(decoder, untilNs)) continue;
      const code = decoder.step();
      if (code === FLOW_END) {
        this.#closeBranch(state.ipLo, state.ipHi);
        return this.#leave();
      }
      if (code === FLOW_NO_MAP && this.image.isWaiting && this.#blockedAt !== decoder.offset) {
        // Once for each place: a file that is not there does not come.
        this.#blockedAt = decoder.offset;
        // What it took for a place without code may have some.
        this.#graphs.delete(this.image);
        return RUN_NEEDS_CODE;
      }
      this.#reachTime(decoder, code);
      if (sampler.timeNs >= untilNs) this.#waitingStep = code;
      else this.#takeStep(decoder, code);
    }
  }

  /** A step may bring the time of the last timing packet; the branch before it was executed before that. */
  #reachTime(decoder: FlowDecoder, code: number): void {
    const { sampler } = this;
    if (code === STEP_INSTRUCTION) {
      const { instruction } = decoder;
      const usesPacket = !instruction.isBeforeEvent && needsTrace(instruction.kind);
      if (!usesPacket && !(instruction.kind >= KIND_CALL && this.#isDisableNext())) return;
      if (!sampler.isTimeWaiting) return;
      this.#closeBranch(instruction.ipLo, instruction.ipHi);
      sampler.reachTime();
    } else if (code === STEP_EVENT) {
      const { event } = decoder;
      if (!isTold(event)) return;
      // Some say themselves where the branch before them went.
      if (sampler.isTimeWaiting && (event.isStatus || !ENDS_BRANCH.has(event.kind))) {
        const { ipLo, ipHi } = event.isIpSuppressed ? decoder.state : event;
        this.#closeBranch(ipLo, ipHi);
      }
      sampler.reachTime();
      if (this.#estimatesTime(event)) sampler.estimateTime();
    } else {
      this.#closeBranch(decoder.errorIpLo, decoder.errorIpHi);
      sampler.reachTime();
    }
  }

  #takeStep(decoder: FlowDecoder, code: number): void {
    const { log } = this.#options;
    if (code === STEP_INSTRUCTION) {
      log?.instruction(decoder.instruction);
      this.#instruction(decoder.instruction);
    } else if (code === STEP_EVENT) {
      log?.event(decoder.event);
      this.#event(decoder.event);
    } else {
      this.#fail(code);
      this.#resume(decoder, code);
    }
  }

  /** A slice by the compiled graph. False where the exact decoder has to take the next step. */
  #runGraph(decoder: FlowDecoder, untilNs: number): boolean {
    const { state } = decoder;
    if (!this.#handOver.isWorthwhile(state)) return false;
    if (!decoder.release()) return false;
    this.#closeBranch(state.ipLo, state.ipHi);
    const from = state.position;
    const end = Math.min(from + this.#options.sliceBytes, this.#bytes.length);
    // Synchronisation points that are to be told of are for the exact decoder.
    const stop = this.#nextPsb >= from ? Math.min(end, this.#nextPsb) : end;
    this.#graphOf(decoder).run(this.#bytes, stop, state, this.#handOver, untilNs);
    decoder.adopt();
    // A slice may end anywhere: only where it did not come to its end something is in the way.
    if (state.position > from && stop - state.position < LONGEST_PACKET_BYTES) this.#handOver.forgetStop();
    else this.#handOver.noteStop(state);
    return state.position > from;
  }

  #graphOf({ state }: FlowDecoder): QueueGraph {
    let graphs = this.#graphs.get(this.image);
    if (graphs === undefined) {
      graphs = new Map();
      this.#graphs.set(this.image, graphs);
    }
    let graph = graphs.get(state.mode);
    if (graph === undefined || graph.isOvergrown) {
      graph = new QueueGraph(this.image, state, {
        sampler: this.sampler,
        flow: this.#options.flow,
        onTime: (lo, hi) => this.#moveTime(lo, hi),
        onEvent: (event) => this.#event(event),
      });
      graphs.set(state.mode, graph);
    }
    return graph;
  }

  /** The decoder has read past it. */
  #passPsb(): void {
    const bytes = this.#bytes;
    const nextPsb = this.#nextPsb;
    const place = headerIp(bytes, nextPsb);
    this.sampler.sample.instructionBytes = 0;
    putPsb(this.sampler, this.doneBytes + nextPsb, place?.lo ?? 0, place?.hi ?? 0);
    this.#nextPsb = findPsb(bytes, nextPsb + PT_SIZE_PSB, bytes.length);
  }

  #leave(): number {
    this.#decoder = null;
    return RUN_NEEDS_BYTES;
  }

  /** After an error: with the next packet that has an address. */
  #resume(decoder: FlowDecoder, code: number): void {
    const { offset } = decoder;
    const failed = decoder.resume();
    if (failed === 0) {
      this.#options.log?.line('decoding goes on with the next packet that has an address');
      return;
    }
    // The same packet again, which nothing gets past: that was told.
    const isTold = failed === code && decoder.offset === offset;
    if (failed !== FLOW_END && !isTold) this.#fail(failed);
    this.#isSynchronized = false;
  }

  #fail(code: number): void {
    this.#pebs.clear();
    this.#isChangeTold = false;
    const { sampler } = this;
    const decoder = this.#decoder;
    const options = this.#options;
    const ipLo = decoder?.errorIpLo ?? 0;
    const ipHi = decoder?.errorIpHi ?? 0;
    options.log?.error(code, decoder?.offset ?? 0, ipLo, ipHi);
    sampler.error(errorOfFlow(code), ipLo, ipHi);
  }

  #moveTime(lo: number, hi: number): void {
    this.#clockMoves = this.#decoder?.state.clock.moves ?? 0;
    this.#hasTime = true;
    this.sampler.setTime(lo, hi);
    this.#options.log?.time(this.sampler.nextTimeNs, lo, hi);
  }

  #instruction(instruction: ExecutedInstruction): void {
    const { ipLo, ipHi, kind } = instruction;
    const { sampler } = this;
    const open = this.#open;
    if (open.isOpen) this.#closeBranch(ipLo, ipHi);
    const isBranch = kind >= KIND_CALL;
    const flags =
      (isBranch ? flagsOf(kind, instruction.detail) : 0) |
      (instruction.isSpeculative ? PERF_IP_FLAG_IN_TX : 0);
    const { cycles } = sampler;
    const isKnown = cycles !== null && needsTrace(kind) && cycles.take();
    open.cycles = cycles?.total ?? 0;
    const isSampled = sampler.isSampled();
    if (cycles !== null) {
      sampler.areCyclesKnown = isKnown;
      if (isKnown && isSampled) cycles.sampled = open.cycles;
    }
    if (isSampled) {
      this.#copyInstruction(instruction);
      const endsTrace = isBranch && this.#isDisableNext();
      sampler.putInstruction(ipLo, ipHi, endsTrace ? flags | PERF_IP_FLAG_TRACE_END : flags);
    }
    if (!isBranch) return;
    open.isOpen = true;
    open.areCyclesKnown = isKnown;
    open.ipLo = ipLo;
    open.ipHi = ipHi;
    const next = (ipLo >>> 0) + instruction.length;
    open.nextLo = next | 0;
    open.nextHi = next > 0xffff_ffff ? (ipHi + 1) | 0 : ipHi;
    open.isConditional = kind === KIND_CONDITIONAL;
    open.flags = flags;
    open.length = instruction.length;
    copyBytes(instruction, open.bytes);
  }

  /** Tracing goes off with the branch that was executed last. */
  #isDisableNext(): boolean {
    const decoder = this.#decoder;
    if (decoder === null || !decoder.isEventNext) return false;
    const { kind, isStatus } = decoder.state.event;
    return kind === EVENT_DISABLED && !isStatus;
  }

  /** A packet tells of what comes, and may have brought cycles. */
  #takeCycles(): void {
    const { sampler } = this;
    const { cycles } = sampler;
    if (cycles === null) return;
    sampler.areCyclesKnown = cycles.take();
    if (sampler.areCyclesKnown) cycles.sampled = cycles.total;
  }

  #copyInstruction(instruction: ExecutedInstruction): void {
    const { sample } = this.sampler;
    sample.instructionBytes = instruction.length;
    copyBytes(instruction, sample.instruction);
  }

  /** The branch that was executed last went there. */
  #closeBranch(toLo: number, toHi: number, flags = 0): void {
    const { sampler } = this;
    const open = this.#open;
    if (!open.isOpen) return;
    open.isOpen = false;
    if (open.isConditional && flags === 0 && toLo === open.nextLo && toHi === open.nextHi) return;
    const { sample } = sampler;
    sample.instructionBytes = open.length;
    sample.instruction.set(open.bytes);
    const { cycles } = sampler;
    sampler.areCyclesKnown = open.areCyclesKnown;
    if (cycles !== null && open.areCyclesKnown) cycles.sampled = open.cycles;
    sampler.branch(open.flags | flags, open.ipLo, open.ipHi, toLo, toHi);
  }

  /** A branch that an event is; what it does to the interrupt flag is the event behind it. */
  #eventBranch(flags: number, fromLo: number, fromHi: number, toLo: number, toHi: number): void {
    const { sampler } = this;
    const next = this.#decoder!.state.event;
    let change = 0;
    if (this.#options.flow.interruptFlags === true && isInterruptChange(next)) {
      change = putInterruptChange(sampler, next.detail !== 0, flags, fromLo, fromHi, toLo, toHi);
      this.#isChangeTold = true;
    }
    sampler.branch(flags | change, fromLo, fromHi, toLo, toHi);
  }

  /** Interrupts are on or off from here. */
  #interruptFlag(event: Readonly<FlowEvent>): void {
    const { sampler } = this;
    const open = this.#open;
    const isChangeTold = this.#isChangeTold;
    const { ipLo, ipHi } = event;
    const isOn = event.detail !== 0;
    this.#isChangeTold = false;
    if (isInterruptChange(event)) {
      if (open.isOpen) {
        const change = putInterruptChange(sampler, isOn, open.flags, open.ipLo, open.ipHi, ipLo, ipHi);
        this.#closeBranch(ipLo, ipHi, change);
      }
    } else if (!event.isStatus && !isChangeTold && !event.isIpSuppressed)
      putInterruptChange(sampler, isOn, 0, ipLo, ipHi, 0, 0);
    sampler.interruptFlag = isOn ? 0 : PERF_IP_FLAG_INTR_DISABLE;
  }

  /** User code goes on after a while that was not traced. */
  #estimatesTime({ kind, isStatus, isIpSuppressed, ipHi }: Readonly<FlowEvent>): boolean {
    return kind === EVENT_ENABLED && !isStatus && !isIpSuppressed && ipHi >= 0;
  }

  #event(event: Readonly<FlowEvent>): void {
    const { sampler } = this;
    switch (event.kind) {
      case EVENT_ENABLED:
        // A PSB+ in the middle only says that tracing is on: the branch before it is still to go somewhere.
        if (event.isStatus) return;
        this.#open.isOpen = false;
        sampler.sample.instructionBytes = 0;
        if (event.isIpSuppressed) return;
        this.#takeCycles();
        this.#eventBranch(PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN, 0, 0, event.ipLo, event.ipHi);
        return;
      case EVENT_DISABLED:
        if (event.isStatus) return;
        if (event.isIpSuppressed) this.#closeBranch(0, 0, PERF_IP_FLAG_TRACE_END);
        else this.#closeBranch(event.ipLo, event.ipHi, PERF_IP_FLAG_TRACE_END);
        sampler.cut();
        return;
      case EVENT_ASYNC_BRANCH:
        this.#closeBranch(event.ipLo, event.ipHi);
        this.#takeCycles();
        sampler.sample.instructionBytes = 0;
        this.#eventBranch(
          PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_INTERRUPT,
          event.ipLo,
          event.ipHi,
          event.toLo,
          event.toHi,
        );
        return;
      case EVENT_ASYNC_DISABLED: {
        this.#closeBranch(event.ipLo, event.ipHi);
        this.#takeCycles();
        sampler.sample.instructionBytes = 0;
        const isKnown = !event.isIpSuppressed;
        const flags =
          PERF_IP_FLAG_BRANCH |
          PERF_IP_FLAG_ASYNC |
          PERF_IP_FLAG_TRACE_END |
          (isKnown ? PERF_IP_FLAG_CALL | PERF_IP_FLAG_INTERRUPT : 0);
        sampler.branch(flags, event.ipLo, event.ipHi, isKnown ? event.toLo : 0, isKnown ? event.toHi : 0);
        sampler.cut();
        return;
      }
      case EVENT_IFLAGS:
        this.#interruptFlag(event);
        return;
      case EVENT_BLOCK_BEGIN:
        this.#pebs.begin(event.detail, event.count);
        return;
      case EVENT_BLOCK_ITEM:
        this.#pebs.item(event.detail, event.lo, event.hi);
        return;
      case EVENT_BLOCK_END: {
        const { ipLo, ipHi } = event.isIpSuppressed ? this.#decoder!.state : event;
        // Of a record that was cut off by an error, only the end is left.
        if (!this.#pebs.isEmpty) sampler.putPebs(this.#pebs, ipLo, ipHi);
        this.#pebs.clear();
        return;
      }
      case EVENT_OVERFLOW:
        this.#open.isOpen = false;
        this.#pebs.clear();
        this.#options.log?.errorLine('packets were lost in the processor (overflow)');
        sampler.error(ERROR_OVERFLOW, event.ipLo, event.ipHi);
        return;
      default:
        sampler.sample.instructionBytes = 0;
        putTraceEvent(sampler, event);
    }
  }
}
