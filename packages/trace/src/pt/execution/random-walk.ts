import { CounterpointError } from '@counterpoint/core/base';
import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
} from '../../code/instructions/index.ts';
import { type ExecutionBlock, type ExecutionCode, KIND_STOPS } from './execution-code.ts';
import { type ExecutionPath, type NextStep, STEP_ASYNC, STEP_ON } from './execution-path.ts';

/** Calls that are still open; the oldest are forgotten, as if nobody ever returned to them. */
const MAX_DEPTH = 4096;
/** How many targets an indirect branch has; most of the time it takes the same one. */
const TARGETS = 4;

/** How often of 64 a conditional jump is taken, by place: from almost never to almost always. */
const FORWARD_LEANINGS: Uint8Array = Uint8Array.of(0, 1, 4, 20, 32, 44, 60, 63);
/** Backward ones make loops, and loops in loops: without an end in sight the walk would see little else. */
const BACKWARD_LEANINGS: Uint8Array = Uint8Array.of(1, 8, 16, 32, 40, 48, 52, 56);

/** Which code is walked, and how. */
export interface RandomWalkOptions {
  /** The same seed gives the same walk. Default: 1. */
  seed?: number;
  /**
   * Where functions begin: targets of indirect branches and of everything that leads
   * nowhere. Low and high half in turn.
   */
  entries: Int32Array;
  /**
   * Where system calls and interrupts lead, for an encoder `withKernel`; far returns lead back.
   * Without it the kernel is not seen.
   */
  handlers?: Int32Array;
  /** Blocks between two interrupts, on average; 0: no interrupts. */
  interruptEvery?: number;
  /**
   * Blocks after which a signal leads elsewhere: code may end in a loop that nothing leaves,
   * such as exit(). Default 5000.
   */
  wanderEvery?: number;
}

/**
 * A walk through code along its branches, without end: calls come back, loops end after a while, each
 * conditional jump has its own leaning, as in real programs. The same seed gives the same walk.
 */
export class RandomWalk implements ExecutionPath {
  readonly #entries: Int32Array;
  readonly #handlers: Int32Array | undefined;
  readonly #interruptEvery: number;
  readonly #wanderEvery: number;
  #untilWander: number;
  readonly #seed: number;
  #state: number;
  readonly #stackLo = new Int32Array(MAX_DEPTH);
  readonly #stackHi = new Int32Array(MAX_DEPTH);
  #depth = 0;
  #top = 0;

  constructor({ seed = 1, entries, handlers, interruptEvery = 0, wanderEvery = 5000 }: RandomWalkOptions) {
    this.#entries = entries;
    this.#handlers = handlers;
    this.#interruptEvery = interruptEvery;
    this.#wanderEvery = wanderEvery;
    this.#untilWander = wanderEvery;
    this.#seed = seed | 0;
    this.#state = seed | 0 || 1;
  }

  /** As `ExecutionPath` says. */
  start(code: ExecutionCode, step: NextStep): void {
    this.#enter(step, code, this.#random());
  }

  /** As `ExecutionPath` says. Throws `ERR_NO_ENTRY` where no entry leads to a branch. */
  next(block: ExecutionBlock, code: ExecutionCode, step: NextStep): number {
    const known = this.#choose(block, code, step);
    if (block.kind === KIND_STOPS || --this.#untilWander === 0) return this.#fault(code, step);
    // A jump to itself would never write a packet again; an event must come before it, for a
    // decoder takes the first arrival.
    if (code.isEndless(known ?? code.blockAt(step.lo, step.hi))) return this.#fault(code, step);
    if (this.#interruptEvery === 0 || this.#random() % this.#interruptEvery !== 0) return STEP_ON;
    step.resumeLo = step.lo;
    step.resumeHi = step.hi;
    if (this.#handlers !== undefined) this.#handle(step, code);
    return STEP_ASYNC;
  }

  /** An interrupt's handler, which comes back. */
  #handle(step: NextStep, code: ExecutionCode): void {
    const { lo, hi } = step;
    this.#pushAddress(lo, hi);
    this.#enter(step, code, this.#random(), this.#handlers);
    step.resumeLo = step.lo;
    step.resumeHi = step.hi;
    goTo(step, lo, hi);
  }

  /** Returns the next block where that is found without a search. */
  #choose(block: ExecutionBlock, code: ExecutionCode, step: NextStep): ExecutionBlock | null {
    switch (block.kind) {
      case KIND_CALL:
        this.#push(block);
        return goToBlock(step, code.targetOf(block));
      case KIND_JUMP:
        return goToBlock(step, code.targetOf(block));
      case KIND_CONDITIONAL:
        return goToBlock(step, this.#isTaken(block) ? code.targetOf(block) : code.nextOf(block));
      case KIND_CALL_INDIRECT:
        this.#push(block);
        this.#enter(step, code, this.#targetOf(block));
        return null;
      case KIND_JUMP_INDIRECT:
        this.#enter(step, code, this.#targetOf(block));
        return null;
      case KIND_RETURN:
        this.#pop(code, step);
        return null;
      case KIND_FAR_CALL:
        if (this.#handlers === undefined) return goToBlock(step, code.nextOf(block));
        this.#push(block);
        this.#enter(step, code, this.#random(), this.#handlers);
        return null;
      case KIND_FAR_RETURN:
        if (this.#handlers === undefined) return goToBlock(step, code.nextOf(block));
        this.#pop(code, step);
        return null;
      default:
        // Cut blocks go on; far transfers come back behind themselves, as system calls do.
        return goToBlock(step, code.nextOf(block));
    }
  }

  /** A signal's handler, or another thread: not where it was. */
  #fault(code: ExecutionCode, step: NextStep): number {
    const { lo, hi } = step;
    this.#enter(step, code, this.#random());
    step.resumeLo = step.lo;
    step.resumeHi = step.hi;
    goTo(step, lo, hi);
    this.#depth = 0;
    this.#untilWander = this.#wanderEvery;
    return STEP_ASYNC;
  }

  #isTaken(block: ExecutionBlock): boolean {
    const hash = hashOf(block, this.#seed) % 8;
    const leaning = block.targetLo < block.lo ? BACKWARD_LEANINGS[hash]! : FORWARD_LEANINGS[hash]!;
    return this.#random() % 64 < leaning;
  }

  #targetOf(block: ExecutionBlock): number {
    const random = this.#random();
    const favourite = hashOf(block, this.#seed);
    return random % 4 === 0 ? favourite + ((random >>> 8) % TARGETS) : favourite;
  }

  #enter(step: NextStep, code: ExecutionCode, number: number, entries: Int32Array = this.#entries): void {
    const count = entries.length >>> 1;
    const first = (number >>> 0) % count;
    for (let tries = 0; tries < count; tries++) {
      const entry = 2 * ((first + tries) % count);
      goTo(step, entries[entry]!, entries[entry + 1]!);
      if (!code.isEndless(code.blockAt(step.lo, step.hi))) return;
    }
    throw new CounterpointError(
      'ERR_NO_ENTRY',
      'no place to begin at leads to a branch',
      'Give the beginnings of real functions as `entries`.',
    );
  }

  #push(block: ExecutionBlock): void {
    this.#pushAddress(block.nextLo, block.nextHi);
  }

  #pushAddress(lo: number, hi: number): void {
    this.#top = (this.#top + 1) % MAX_DEPTH;
    this.#stackLo[this.#top] = lo;
    this.#stackHi[this.#top] = hi;
    if (this.#depth < MAX_DEPTH) this.#depth++;
  }

  #pop(code: ExecutionCode, step: NextStep): void {
    if (this.#depth === 0) {
      this.#enter(step, code, this.#random());
      return;
    }
    goTo(step, this.#stackLo[this.#top]!, this.#stackHi[this.#top]!);
    this.#top = (this.#top + MAX_DEPTH - 1) % MAX_DEPTH;
    this.#depth--;
  }

  /** Marsaglia's xorshift32, unsigned. */
  #random(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }
}

function goTo(step: NextStep, lo: number, hi: number): void {
  step.lo = lo;
  step.hi = hi;
}

function goToBlock(step: NextStep, block: ExecutionBlock): ExecutionBlock {
  goTo(step, block.lo, block.hi);
  return block;
}

function hashOf(block: ExecutionBlock, seed: number): number {
  return Math.imul(block.lo ^ (block.lo >>> 15) ^ seed, 0x2c1b_3c6d) >>> 8;
}
