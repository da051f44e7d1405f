import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
} from '../../code/instructions/index.ts';
import { PT_MODE_EXEC_CS_D, PT_MODE_EXEC_CS_L } from '../packets/opcodes.ts';
import {
  PACKET_CBR,
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { BlockEncoder } from './block-encoder.ts';
import type { BlockTable } from './block-table.ts';
import { CallStack } from './call-stack.ts';
import { PacketSink } from './packet-sink.ts';

/**
 * An instruction of user code that was executed. Addresses are float64: exact wherever user code can be.
 *
 * @internal
 */
export interface SteppedInstruction {
  /** Where it stands. */
  readonly pc: number;
  /** In bytes; 0: it could not be read. */
  readonly length: number;
  /** KIND_*. */
  readonly kind: number;
  /** In a segment of 32 bits. */
  readonly is32Bit: boolean;
}

/**
 * How `StepEncoder` writes.
 *
 * @internal
 */
export interface StepEncodingOptions {
  /** Returns to where the call on the stack came from become one bit. Default true. */
  returnCompression?: boolean;
  /** Bytes between two synchronisation points. Default: 4096. */
  psbBytes?: number;
  /** Size of the pieces that `chunks` gives, about. Default 4096. */
  chunkBytes?: number;
  /** The TSC, which is asked for at most once a packet. Without it there are no times. */
  tsc?: (() => number) | null;
  /** The fewest ticks between two TSC packets. Default: 1000. */
  tscTicks?: number;
}

const HIGH = 0x1_0000_0000;
const NOWHERE = -1;
/** CBR says how fast the core runs; of a program that is stepped nothing true can be said. */
const BUS_RATIO = 1;
/** Between two looks at the clock and at what the trace has grown. */
const SLICE_BLOCKS = 1024;

/**
 * Writes what a CPU's Intel PT would write of one thread, from its instructions one by one: user code only,
 * with compressed returns.
 *
 *   instruction, where it led ──> outcome or target, as `ExecutionEncoder` writes them
 *   the next one stands elsewhere ──> FUP (where it was expected), TIP.PGD ... TIP.PGE (where it is)
 *
 * @internal
 */
export class StepEncoder {
  readonly #sink: PacketSink;
  readonly #calls = new CallStack();
  readonly #blocks: BlockEncoder;
  readonly #returnCompression: boolean;
  readonly #psbBytes: number;
  readonly #tsc: (() => number) | null;
  readonly #tscTicks: number;
  #lastTsc = Number.NEGATIVE_INFINITY;
  /** What is put belongs to the time of the last TSC. */
  #isLate = false;
  #lastPsbAt = 0;
  /** Where the trace goes on; `NOWHERE` while it is disabled. */
  #expected = NOWHERE;
  #mode = PT_MODE_EXEC_CS_L;

  constructor(options: StepEncodingOptions = {}) {
    const {
      returnCompression = true,
      psbBytes = 4096,
      chunkBytes = 4096,
      tsc = null,
      tscTicks = 1000,
    } = options;
    this.#returnCompression = returnCompression;
    this.#psbBytes = psbBytes;
    this.#tsc = tsc;
    this.#tscTicks = tscTicks;
    this.#sink = new PacketSink(chunkBytes, false, false, tsc === null ? null : () => this.#putDueTsc());
    this.#blocks = new BlockEncoder(this.#sink, this.#calls, returnCompression);
  }

  /** Bytes of the trace so far; outcomes that wait for their packet are not in it. */
  get byteCount(): number {
    return this.#sink.offset;
  }

  get hasChunk(): boolean {
    return this.#sink.hasChunk;
  }

  /** Pieces that are full; with `all`, what there is. They belong to the caller. */
  chunks(all: boolean): Generator<Uint8Array<ArrayBuffer>> {
    return this.#sink.chunks(all);
  }

  /** `done` was executed, and the thread stands at `pcAfter`. */
  step(done: SteppedInstruction, pcAfter: number): void {
    this.#goOnAt(done.pc, modeOf(done));
    if (done.length === 0) {
      // No decoder reads it either: the trace leaves before it.
      this.stop();
      return;
    }
    this.#follow(done, pcAfter);
    if (this.#expected !== NOWHERE) this.#putDuePsb();
  }

  /** All from `first` to `last` were executed in a row, and all but `last` led to the next one. */
  run(first: SteppedInstruction, last: SteppedInstruction, pcAfter: number): void {
    this.#goOnAt(first.pc, modeOf(first));
    this.#expected = last.pc;
    this.step(last, pcAfter);
  }

  /**
   * `done` was executed some time ago, and does not come back: it called exec, after which other code stands
   * where it was. All packets have the time that was told last, and are decoded by the code of that time.
   */
  lastStep(done: SteppedInstruction): void {
    this.#isLate = true;
    this.step(done, 0);
    this.stop();
    this.#isLate = false;
  }

  /** The time that was told last; -Infinity: none was. */
  get lastTsc(): number {
    return this.#lastTsc;
  }

  /**
   * Of `table`, the blocks `ids[0]` to `ids[count - 1]` were executed, each led to the next one, and the last
   * to `ids[count]`. Times and synchronisation points are looked at once in a while.
   */
  blocks(table: BlockTable, ids: Int32Array, count: number): void {
    for (let at = 0; at < count; ) {
      this.#goOnAt(table.startOf(ids[at]!), PT_MODE_EXEC_CS_L);
      this.#sink.putTime();
      const end = Math.min(count, at + SLICE_BLOCKS);
      at = this.#blocks.encode(table, ids, at, end);
      this.#expected = table.startOf(ids[at]!);
      if (at < end) {
        this.#leave();
        at++;
      } else this.#putDuePsb();
    }
  }

  /** The thread stands, for as long as it likes, where the last instruction led it. */
  stop(): void {
    this.#sink.flushOutcomes();
    if (this.#expected === NOWHERE) return;
    this.#sink.putTime();
    this.#putIp(PACKET_FUP, this.#expected);
    this.#putDisabled();
  }

  #follow({ pc, length, kind }: SteppedInstruction, pcAfter: number): void {
    const next = pc + length;
    this.#expected = pcAfter;
    switch (kind) {
      case KIND_CONDITIONAL:
        this.#sink.outcome(pcAfter !== next);
        return;
      case KIND_CALL:
        if (pcAfter !== next) this.#push(next);
        return;
      case KIND_JUMP:
        return;
      case KIND_CALL_INDIRECT:
        if (pcAfter !== next) this.#push(next);
        this.#putTarget(pcAfter);
        return;
      case KIND_JUMP_INDIRECT:
        this.#putTarget(pcAfter);
        return;
      case KIND_RETURN:
        if (this.#returnCompression && this.#calls.pop(pcAfter | 0, highOf(pcAfter)))
          this.#sink.outcome(true);
        else this.#putTarget(pcAfter);
        return;
      case KIND_FAR_CALL:
      case KIND_FAR_RETURN:
      case KIND_FAR_JUMP:
        this.#leave();
        return;
      default:
        this.#expected = next;
    }
  }

  /** Into the kernel: it comes back where it likes. */
  #leave(): void {
    this.#sink.flushOutcomes();
    this.#sink.putTime();
    this.#putDisabled();
  }

  /** The next instruction stands at `pc`: perhaps elsewhere than it was expected. */
  #goOnAt(pc: number, mode: number): void {
    if (pc === this.#expected && mode === this.#mode) return;
    if (this.#sink.offset === 0) this.#putPsb();
    this.stop();
    this.#mode = mode;
    this.#sink.putTime();
    this.#sink.put(PACKET_MODE_EXEC, 0, 0, 0, 0, this.#mode);
    this.#putIp(PACKET_TIP_PGE, pc);
    this.#calls.clear();
    this.#expected = pc;
    this.#putDuePsb();
  }

  #push(address: number): void {
    this.#calls.push(address | 0, highOf(address));
  }

  #putTarget(address: number): void {
    this.#sink.putTargetNow(address | 0, highOf(address));
  }

  #putIp(kind: number, address: number): void {
    this.#sink.putIp(kind, address | 0, highOf(address));
  }

  #putDisabled(): void {
    this.#sink.putSuppressed(PACKET_TIP_PGD);
    this.#expected = NOWHERE;
  }

  #putDuePsb(): void {
    if (this.#sink.offset - this.#lastPsbAt >= this.#psbBytes) this.#putPsb();
  }

  #putPsb(): void {
    const sink = this.#sink;
    sink.flushOutcomes();
    this.#lastPsbAt = sink.offset;
    sink.put(PACKET_PSB);
    sink.forgetIp();
    this.#calls.clear();
    if (this.#tsc !== null) {
      this.#putTsc(this.#now(this.#tsc));
      sink.put(PACKET_CBR, BUS_RATIO);
    }
    sink.put(PACKET_MODE_TSX);
    sink.put(PACKET_MODE_EXEC, 0, 0, 0, 0, this.#mode);
    if (this.#expected !== NOWHERE) this.#putIp(PACKET_FUP, this.#expected);
    sink.put(PACKET_PSBEND);
  }

  #putDueTsc(): void {
    const tsc = this.#now(this.#tsc!);
    if (tsc - this.#lastTsc >= this.#tscTicks) this.#putTsc(tsc);
  }

  #now(clock: () => number): number {
    return this.#isLate && this.#lastTsc > 0 ? this.#lastTsc : clock();
  }

  #putTsc(tsc: number): void {
    this.#lastTsc = tsc;
    this.#sink.put(PACKET_TSC, tsc | 0, Math.floor(tsc / HIGH) & 0xff_ffff);
  }
}

function modeOf({ is32Bit }: SteppedInstruction): number {
  return is32Bit ? PT_MODE_EXEC_CS_D : PT_MODE_EXEC_CS_L;
}

function highOf(address: number): number {
  return Math.floor(address / HIGH) | 0;
}
