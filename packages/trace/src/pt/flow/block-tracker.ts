import type { CodeSection } from '../../code/image/index.ts';
import { KIND_CALL, KIND_JUMP } from '../../code/instructions/index.ts';
import { needsTrace } from './binding.ts';
import type { ExecutedInstruction } from './code-walk.ts';

/** Instructions that a block holds at most: its count has 16 bits. */
const MOST_INSTRUCTIONS = 0xffff;
/** As far as unknown code is walked at once. */
const WALK_STEPS = 0x400;

export interface BlockOptions {
  readonly endOnCall?: boolean;
  readonly endOnJump?: boolean;
}

/**
 * Where a block of instructions ends, by the rules of the block decoder of Intel's library: with every branch
 * that needs trace, with a change of section, and where an event is due. Its blocks also end for reasons of
 * its cache, and these are imitated here so that listings can be compared: the first time through, code ends
 * a block at a direct call, at a direct jump backwards, and where it meets code that it went through before.
 *
 *   first time     [ a b c call ] [ d e jmp- ] [ ...      every address becomes known
 *   known          [ a b c call d e jmp- ... jcc ]        goes on to the next branch that needs trace
 */
export class BlockTracker {
  /** Blocks so far. */
  count = 0;
  readonly #endOnCall: boolean;
  readonly #endOnJump: boolean;
  /** Addresses by section. */
  readonly #known = new Map<string, Set<string>>();
  /** Those of the walk that is under way. */
  #fresh: string[] = [];
  #isWalking = false;
  /** Behind a call or a backward jump of known code: the next address says how it goes on. */
  #mustLook = false;
  #steps = 0;
  #instructions = 0;
  #section = '';
  #sectionOf: CodeSection | null = null;
  #hasEnded = true;

  constructor(options: BlockOptions = {}) {
    this.#endOnCall = options.endOnCall ?? false;
    this.#endOnJump = options.endOnJump ?? false;
  }

  /** An event or an error was told: the block is over. */
  end(): void {
    this.#hasEnded = true;
  }

  /** Take the next instruction; true where it begins a block. */
  add(instruction: ExecutedInstruction): boolean {
    const { kind, isBeforeEvent } = instruction;
    const section = this.#nameOf(instruction.section);
    const address = `${instruction.ipHi}:${instruction.ipLo}`;
    const isOver = this.#hasEnded || section !== this.#section || this.#instructions === MOST_INSTRUCTIONS;
    if (isOver) this.#learn();
    const isKnown = this.#known.get(section)?.has(address) ?? false;
    const begins = isOver || (this.#isWalking && !this.#mustLook && isKnown && !isBeforeEvent);
    if (begins) {
      this.#learn();
      this.count++;
      this.#instructions = 0;
      this.#section = section;
    }
    if (begins || this.#mustLook) {
      this.#isWalking = !isKnown && !isBeforeEvent;
      this.#steps = WALK_STEPS;
      this.#mustLook = false;
    }
    this.#instructions++;
    this.#hasEnded =
      needsTrace(kind) ||
      instruction.isTruncated ||
      (this.#endOnCall && kind === KIND_CALL) ||
      (this.#endOnJump && kind === KIND_JUMP);
    const isStop = kind === KIND_CALL || (kind === KIND_JUMP && instruction.displacement < 0);
    if (this.#isWalking) {
      this.#fresh.push(address);
      if (isStop || --this.#steps === 0) this.#hasEnded = true;
    } else this.#mustLook = isStop && !isBeforeEvent;
    return begins;
  }

  /** The same code at the same place is the same section, whatever image it is found in. */
  #nameOf(section: CodeSection | null): string {
    if (section === null || section === this.#sectionOf) return this.#section;
    this.#sectionOf = section;
    return `${section.name}:${section.baseHi}:${section.baseLo}`;
  }

  #learn(): void {
    if (this.#fresh.length === 0) return;
    let known = this.#known.get(this.#section);
    if (known === undefined) {
      known = new Set();
      this.#known.set(this.#section, known);
    }
    for (const address of this.#fresh) known.add(address);
    this.#fresh = [];
  }
}
