import { CounterpointError, toHex } from '@counterpoint/core/base';
import type { CodeImage } from '../../code/image/index.ts';
import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_MOV_CR3,
  KIND_OTHER,
  KIND_RETURN,
  MODE_64,
} from '../../code/instructions/index.ts';
import { PT_MODE_EXEC_CS_L } from '../packets/opcodes.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { CallStack } from './call-stack.ts';
import { type ClockRates, DEFAULT_RATES, ExecutionClock } from './execution-clock.ts';
import { type ExecutionBlock, ExecutionCode, KIND_STOPS } from './execution-code.ts';
import { type ExecutionPath, type NextStep, STEP_ASYNC, STEP_END } from './execution-path.ts';
import { ExecutionTruth } from './execution-truth.ts';
import { PacketSink } from './packet-sink.ts';

/** Which packets are written, as perf's terms of the event `intel_pt` choose them. */
export interface EncodingOptions {
  /** Returns to where the call on the stack came from become one bit. Default true. */
  returnCompression?: boolean;
  /**
   * The kernel is traced, too: far transfers and interrupts lead on, and writes of
   * CR3 are told. Default false.
   */
  withKernel?: boolean;
  /** TNT packets of up to 47 outcomes. Default false. */
  longTnt?: boolean;
  /** Targets of indirect branches wait for the TNT packet to fill. Default false. */
  deferTips?: boolean;
  /** Bytes between two synchronisation points. Default: 4096. */
  psbBytes?: number;
  /** TSC and CBR in synchronisation points. Default false. */
  tsc?: boolean;
  /** MTC, and TMA beside TSC. Default false. */
  mtc?: boolean;
  /** CYC before every packet that may have it. Default false. */
  cyc?: boolean;
  /** Clocks of the processor; what is left out is that of `DEFAULT_RATES`. */
  rates?: Partial<ClockRates>;
  /** Default 64 KiB. */
  chunkBytes?: number;
  /** FNV-1a over every address, for comparing. Default true; costs about half of the time. */
  hash?: boolean;
  /** Count how often which block followed which; memory by edges of the code. Default false. */
  edges?: boolean;
}

/** What ends an execution; whichever comes first. */
export interface ExecutionLimit {
  /** Of the trace, about. */
  bytes?: number;
  /** Executed ones, about. */
  instructions?: number;
}

/** Cycles that pass while the kernel works: some microseconds, less than MTC's 8 bits wrap in. */
const KERNEL_CYCLES = 900;
/** What tells the kernel's page table from the program's: the next page but one. */
const KERNEL_PAGE_TABLE = 0x1000;
const PROGRAM_CR3 = 0x1_2000;

/**
 * Writes the packets that a CPU writes while it runs code along a path: user code only, as with a filter on
 * the privilege level, or the kernel's code, too (`withKernel`).
 *
 *     path ── where next? ──> blocks ──┬── outcomes, targets ──> packets ──> chunks of bytes
 *                                      └── instructions, hash, runs of each block: the truth
 *
 * The model of the call stack: 64 entries that wrap; cleared at PSB and TIP.PGE; a call to the next
 * instruction is not pushed; a return that is not compressed leaves it as it is.
 */
export class ExecutionEncoder {
  /** What was executed so far: what a decoder of the trace must find. */
  readonly truth: ExecutionTruth;
  /** The blocks that were run, and how often. */
  readonly code: ExecutionCode;
  readonly #path: ExecutionPath;
  readonly #sink: PacketSink;
  readonly #clock: ExecutionClock;
  readonly #calls = new CallStack();
  readonly #options: Required<Omit<EncodingOptions, 'rates' | 'chunkBytes'>>;
  #lastPsbAt = 0;
  #lastMtc = 0;
  #nextMtcCycles = 0;
  #lastCyc = 0;
  #cr3 = PROGRAM_CR3;
  #isStarted = false;
  readonly #step: NextStep = { lo: 0, hi: 0, resumeLo: 0, resumeHi: 0 };

  constructor(image: CodeImage, path: ExecutionPath, options: EncodingOptions = {}) {
    const {
      returnCompression = true,
      withKernel = false,
      longTnt = false,
      deferTips = false,
      psbBytes = 4096,
      tsc = false,
      mtc = false,
      cyc = false,
      hash = true,
      edges = false,
    } = options;
    this.#options = {
      returnCompression,
      withKernel,
      longTnt,
      deferTips,
      psbBytes,
      tsc: tsc || mtc || cyc,
      mtc,
      cyc,
      hash,
      edges,
    };
    this.code = new ExecutionCode(image, MODE_64, withKernel);
    this.#path = path;
    this.truth = new ExecutionTruth(hash, edges);
    this.#clock = new ExecutionClock({ ...DEFAULT_RATES, ...options.rates });
    this.#sink = new PacketSink(
      options.chunkBytes ?? 1 << 16,
      longTnt,
      deferTips,
      cyc ? () => this.#putCycles() : null,
    );
  }

  /** Bytes of the trace so far. */
  get byteCount(): number {
    return this.#sink.offset;
  }

  /**
   * The trace, in chunks, until the path or the limit ends. `truth` is then complete. Memory
   * does not grow with the trace.
   */
  *chunks(limit: ExecutionLimit = {}): Generator<Uint8Array<ArrayBuffer>> {
    const { bytes = Number.POSITIVE_INFINITY, instructions = Number.POSITIVE_INFINITY } = limit;
    let next: ExecutionBlock | null = this.#begin();
    while (next !== null) {
      next = this.#runToChunk(next, bytes, instructions);
      yield* this.#sink.chunks(next === null);
    }
  }

  /** Runs until a chunk is full and gives the block that is next, or until the end: null. */
  #runToChunk(first: ExecutionBlock, bytes: number, instructions: number): ExecutionBlock | null {
    const { truth, code } = this;
    const sink = this.#sink;
    const path = this.#path;
    const step = this.#step;
    const { psbBytes } = this.#options;
    let block = first;
    while (!sink.hasChunk) {
      if (sink.offset >= bytes || truth.instructions >= instructions) {
        this.#stopBefore(block);
        return null;
      }
      this.#run(block);
      const event = path.next(block, code, step);
      if (event === STEP_END) {
        sink.flushOutcomes();
        this.#putDisabled();
        return null;
      }
      const next = this.#follow(block, step);
      truth.edge(block, next);
      block = event === STEP_ASYNC ? this.#interrupt(step) : next;
      if (sink.offset - this.#lastPsbAt >= psbBytes) this.#putPsb(block);
    }
    return block;
  }

  #begin(): ExecutionBlock {
    if (this.#isStarted)
      throw new CounterpointError(
        'ERR_EXECUTION_ENDED',
        'this execution was encoded already',
        'Make one ExecutionEncoder for each trace.',
      );
    this.#isStarted = true;
    this.#lastMtc = this.#clock.mtc;
    this.#putPsb(null);
    this.#path.start(this.code, this.#step);
    const { lo, hi } = this.#step;
    this.#putEnabled(lo, hi);
    return this.code.blockAt(lo, hi);
  }

  #run(block: ExecutionBlock): void {
    this.truth.run(block);
    if (!this.#options.tsc) return;
    // Three instructions in two cycles, and each sixteenth block waits for memory.
    const wait = ((block.runs * 0x9e37) & 0xf000) === 0 ? 40 + (block.lo & 0xff) : 0;
    this.#clock.advance(Math.ceil((block.instructions * 2) / 3) + wait);
    if (this.#options.mtc) this.#putDueMtc();
  }

  /** Write what the branch at the block's end writes, and give the block that it leads to. */
  #follow(block: ExecutionBlock, step: NextStep): ExecutionBlock {
    const { truth, code } = this;
    const sink = this.#sink;
    const calls = this.#calls;
    switch (block.kind) {
      case KIND_CONDITIONAL: {
        const isTaken = step.lo === block.targetLo && step.hi === block.targetHi;
        // Where both ways lead to the same place, it counts as taken.
        if (!isTaken && (step.lo !== block.nextLo || step.hi !== block.nextHi)) throw badPath(block, step);
        truth.conditional(block, isTaken);
        sink.outcome(isTaken);
        return isTaken ? code.targetOf(block) : code.nextOf(block);
      }
      case KIND_CALL:
        truth.calls++;
        if (!block.isCallToNext) calls.push(block.nextLo, block.nextHi);
        return this.#direct(block, code.targetOf(block), step);
      case KIND_JUMP:
        return this.#direct(block, code.targetOf(block), step);
      case KIND_OTHER:
      case KIND_STOPS:
        return this.#direct(block, code.nextOf(block), step);
      case KIND_CALL_INDIRECT:
        truth.calls++;
        truth.indirects++;
        if (step.lo !== block.nextLo || step.hi !== block.nextHi) calls.push(block.nextLo, block.nextHi);
        sink.putTarget(step.lo, step.hi);
        return code.blockAt(step.lo, step.hi);
      case KIND_JUMP_INDIRECT:
        truth.indirects++;
        sink.putTarget(step.lo, step.hi);
        return code.blockAt(step.lo, step.hi);
      case KIND_RETURN:
        truth.returns++;
        if (this.#options.returnCompression && calls.pop(step.lo, step.hi)) {
          truth.compressedReturns++;
          sink.outcome(true);
        } else sink.putTargetNow(step.lo, step.hi);
        return code.blockAt(step.lo, step.hi);
      case KIND_MOV_CR3:
        // As with page tables of the kernel's own: one more and one less at every way in and out.
        this.#cr3 ^= KERNEL_PAGE_TABLE;
        sink.flushOutcomes();
        sink.put(PACKET_PIP, this.#cr3);
        return this.#direct(block, code.nextOf(block), step);
      default:
        // Far transfers go through the kernel: system calls, traps, and back.
        truth.farTransfers++;
        if (this.#options.withKernel) {
          sink.putTargetNow(step.lo, step.hi);
          return code.blockAt(step.lo, step.hi);
        }
        sink.flushOutcomes();
        this.#putDisabled();
        this.#putEnabled(step.lo, step.hi);
        return code.blockAt(step.lo, step.hi);
    }
  }

  #direct(block: ExecutionBlock, to: ExecutionBlock, step: NextStep): ExecutionBlock {
    if (to.lo !== step.lo || to.hi !== step.hi) throw badPath(block, step);
    return to;
  }

  /** An interrupt, exception or signal before the instruction that would be next. */
  #interrupt(step: NextStep): ExecutionBlock {
    this.truth.interrupts++;
    this.#sink.flushOutcomes();
    this.#sink.putIp(PACKET_FUP, step.lo, step.hi);
    if (this.#options.withKernel) {
      this.#sink.putTargetNow(step.resumeLo, step.resumeHi);
      return this.code.blockAt(step.resumeLo, step.resumeHi);
    }
    this.#putDisabled();
    this.#putEnabled(step.resumeLo, step.resumeHi);
    return this.code.blockAt(step.resumeLo, step.resumeHi);
  }

  #putDisabled(): void {
    this.#sink.putTime();
    this.#sink.putSuppressed(PACKET_TIP_PGD);
    this.#clock.advance(KERNEL_CYCLES);
    if (this.#options.mtc) this.#putDueMtc();
  }

  #putEnabled(lo: number, hi: number): void {
    this.#sink.put(PACKET_MODE_EXEC, 0, 0, 0, 0, PT_MODE_EXEC_CS_L);
    this.#sink.putTime();
    this.#sink.putIp(PACKET_TIP_PGE, lo, hi);
    this.#calls.clear();
  }

  /** `block` is what runs next, null before the first. */
  #putPsb(block: ExecutionBlock | null): void {
    const sink = this.#sink;
    const clock = this.#clock;
    const options = this.#options;
    sink.flushOutcomes();
    if (options.cyc && block !== null) sink.putTime();
    this.#lastPsbAt = sink.offset;
    this.truth.psbs++;
    sink.put(PACKET_PSB);
    sink.forgetIp();
    this.#calls.clear();
    if (options.tsc) {
      const { tsc } = clock;
      sink.put(PACKET_TSC, tsc | 0, Math.floor(tsc / 0x1_0000_0000) & 0xff_ffff);
      if (options.mtc) sink.put(PACKET_TMA, clock.crystal % 0x1_0000, 0, 0, clock.fastCounter);
      sink.put(PACKET_CBR, clock.rates.coreRatio);
    }
    sink.put(PACKET_MODE_TSX);
    sink.put(PACKET_MODE_EXEC, 0, 0, 0, 0, PT_MODE_EXEC_CS_L);
    if (block !== null) sink.putIp(PACKET_FUP, block.lo, block.hi);
    sink.put(PACKET_PSBEND);
  }

  #putDueMtc(): void {
    if (this.#clock.coreCycles < this.#nextMtcCycles) return;
    const { mtc } = this.#clock;
    for (; this.#lastMtc < mtc; this.#lastMtc++) {
      this.#sink.putTime();
      this.#sink.put(PACKET_MTC, (this.#lastMtc + 1) % 0x100);
    }
    this.#nextMtcCycles = this.#clock.cyclesOfMtc(mtc + 1);
  }

  /**
   * The tracer switches off before the next instruction, as at an interrupt; at a path's own end it is
   * the last branch that leaves.
   */
  #stopBefore(block: ExecutionBlock): void {
    this.#sink.flushOutcomes();
    this.#sink.putIp(PACKET_FUP, block.lo, block.hi);
    this.#putDisabled();
  }

  #putCycles(): void {
    const cycles = this.#clock.coreCycles - this.#lastCyc;
    this.#lastCyc = this.#clock.coreCycles;
    this.#sink.put(PACKET_CYC, cycles | 0, Math.floor(cycles / 0x1_0000_0000));
  }
}

function badPath(block: ExecutionBlock, step: NextStep): CounterpointError {
  const [from, to] = [block, step].map(({ lo, hi }) => toHex(lo >>> 0, hi >>> 0));
  return new CounterpointError(
    'ERR_EXECUTION_PATH',
    `the code at 0x${from} does not lead to 0x${to}`,
    'The path must have been recorded from this very code.',
  );
}
