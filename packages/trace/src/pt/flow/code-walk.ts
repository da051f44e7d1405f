import { toFloat } from '@counterpoint/core/base';
import {
  type CodeImage,
  type CodeSection,
  EVERY_ADDRESS_SPACE,
  LATEST,
  offsetIn,
} from '../../code/image/index.ts';
import {
  decodeInstruction,
  INSN_TRUNCATED,
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  LONGEST_INSTRUCTION,
  MODE_16,
  MODE_32,
} from '../../code/instructions/index.ts';
import { isAt, isCall, isDirectBranch, needsTrace } from './binding.ts';
import { FLOW_BAD_INSTRUCTION, FLOW_NO_MAP } from './flow-errors.ts';
import { type FlowState, MODE_UNKNOWN } from './flow-state.ts';

/** An executed instruction. Borrowed: the next step overwrites it. */
export class ExecutedInstruction extends Instruction {
  /** Its address, as int32 halves. */
  ipLo = 0;
  /** Upper half. */
  ipHi = 0;
  /** MODE_16, MODE_32 or MODE_64. */
  mode = MODE_UNKNOWN;
  /** Executed in a transaction (TSX): it may have been undone since. */
  isSpeculative = false;
  /** It begins in this section of the image, and ends in another. */
  isTruncated = false;
  /** The code it was read from: `section.name` says of which file. Null before the first. */
  section: CodeSection | null = null;
  /** The walk was on its way to an event that has a place of its own. */
  isBeforeEvent = false;
  /** The flow has gone on from it: it stands where that led, be it here again. Else it still stands here. */
  isPassed = false;
  /** A conditional branch that the trace has told to be taken. */
  isTaken = false;
}

const FIRST_LOOP_CHECK = 64;

/** Instructions, and from one to the next as far as code alone tells. Moves `state.ipLo` and `ipHi`. */
export class CodeWalk {
  image: CodeImage;
  /** What the image is asked with. */
  time: number = LATEST;
  readonly instruction = new ExecutedInstruction();
  readonly #state: FlowState;
  readonly #useCr3: boolean;
  readonly #probe = new ExecutedInstruction();
  readonly #scratchCode = new Uint8Array(LONGEST_INSTRUCTION);
  // The address at step 64, 128, 256 ... without any trace: to be there again means to go round for ever.
  #loopSteps = 0;
  #loopCheck = FIRST_LOOP_CHECK;
  #loopLo = 0;
  #loopHi = 0;

  constructor(image: CodeImage, state: FlowState, useCr3: boolean) {
    this.image = image;
    this.#state = state;
    this.#useCr3 = useCr3;
  }

  /** Read the instruction where the flow is, and note the call that it may be. 0 or a FLOW_* code. */
  read(): number {
    const state = this.#state;
    const { instruction } = this;
    const { ipLo, ipHi } = state;
    instruction.ipLo = ipLo;
    instruction.ipHi = ipHi;
    instruction.mode = state.mode;
    instruction.isSpeculative = state.isSpeculative;
    const failed = this.#decode(ipLo, ipHi, instruction);
    if (failed !== 0) return failed;
    instruction.isPassed = false;
    instruction.isTaken = false;
    const { kind } = instruction;
    if (kind === KIND_CALL_INDIRECT || (kind === KIND_CALL && instruction.displacement !== 0)) {
      this.skip(instruction.length);
      state.returns.push(state.ipLo, state.ipHi);
      state.ipLo = ipLo;
      state.ipHi = ipHi;
    }
    return 0;
  }

  #decode(lo: number, hi: number, out: ExecutedInstruction): number {
    const state = this.#state;
    const { mode } = state;
    const space =
      this.#useCr3 && state.isCr3Known ? toFloat(state.cr3Lo >>> 0, state.cr3Hi >>> 0) : EVERY_ADDRESS_SPACE;
    const section = this.image.find(lo, hi, this.time, space);
    if (section === null) return FLOW_NO_MAP;
    if (mode === MODE_UNKNOWN) return FLOW_BAD_INSTRUCTION;
    out.section = section;
    out.isTruncated = false;
    let size = decodeInstruction(section.bytes, offsetIn(section, lo, hi), section.sizeBytes, mode, out);
    if (size === INSN_TRUNCATED) {
      const available = this.image.read(lo, hi, this.#scratchCode, this.time, space);
      size = decodeInstruction(this.#scratchCode, 0, available, mode, out);
      out.isTruncated = true;
    }
    return size < 0 ? FLOW_BAD_INSTRUCTION : 0;
  }

  /** The instruction at an address, as the code is now; null if there is none. Borrowed. */
  peek(lo: number, hi: number): ExecutedInstruction | null {
    return this.#decode(lo, hi, this.#probe) === 0 ? this.#probe : null;
  }

  /** Behind an instruction that needs no trace: where it goes. */
  goOn(instruction: ExecutedInstruction = this.instruction): void {
    this.skip(instruction.length);
    if (isDirectBranch(instruction.kind)) this.jump(instruction);
  }

  /** From behind a direct branch to its target. */
  jump(instruction: ExecutedInstruction = this.instruction): void {
    this.skip(instruction.displacement);
    if (instruction.pointerBits === 64) return;
    this.#state.ipHi = 0;
    if (instruction.pointerBits === 16) this.#state.ipLo &= 0xffff;
  }

  /** `distance` fits in 32 bits with its sign. */
  skip(distance: number): void {
    const state = this.#state;
    const low = (state.ipLo >>> 0) + distance;
    state.ipLo = low | 0;
    if (low > 0xffff_ffff) state.ipHi = (state.ipHi + 1) | 0;
    else if (low < 0) state.ipHi = (state.ipHi - 1) | 0;
    if (state.mode === MODE_32 || state.mode === MODE_16) state.ipHi = 0;
  }

  /** After a call tracing most likely goes on behind it; after any other branch nobody knows where. */
  expectToResume(): void {
    const state = this.#state;
    const { instruction } = this;
    const isKnown = isCall(instruction.kind);
    state.ipLo = isKnown ? instruction.ipLo : 0;
    state.ipHi = isKnown ? instruction.ipHi : 0;
    if (isKnown) this.skip(instruction.length);
  }

  /** Can an address be reached from where the flow is, in at most this many steps and without any trace? */
  isReachable(lo: number, hi: number, steps: number): boolean {
    const state = this.#state;
    const { ipLo, ipHi } = state;
    let isReached = isAt(state, lo, hi);
    for (let step = 0; step < steps && !isReached; step++) {
      const instruction = this.peek(state.ipLo, state.ipHi);
      if (instruction === null || needsTrace(instruction.kind)) break;
      this.goOn(instruction);
      isReached = isAt(state, lo, hi);
    }
    state.ipLo = ipLo;
    state.ipHi = ipHi;
    return isReached;
  }

  /** Trace was used, or an event: from here on the same address may lead elsewhere. */
  restartLoopCheck(): void {
    this.#loopSteps = 0;
    this.#loopCheck = FIRST_LOOP_CHECK;
  }

  /** To be asked after each step without trace. */
  hasGoneRound(): boolean {
    const state = this.#state;
    if (this.#loopSteps >= FIRST_LOOP_CHECK && isAt(state, this.#loopLo, this.#loopHi)) {
      this.restartLoopCheck();
      return true;
    }
    if (++this.#loopSteps === this.#loopCheck) {
      this.#loopCheck *= 2;
      this.#loopLo = state.ipLo;
      this.#loopHi = state.ipHi;
    }
    return false;
  }
}
