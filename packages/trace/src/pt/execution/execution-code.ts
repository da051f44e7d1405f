import type { CodeImage } from '../../code/image/index.ts';
import {
  DETAIL_HLT,
  DETAIL_NONE,
  Instruction,
  KIND_CALL,
  KIND_JUMP,
  KIND_MOV_CR3,
  KIND_OTHER,
  KIND_PTWRITE,
  MODE_64,
} from '../../code/instructions/index.ts';

/**
 * Kind of a block behind which no code is known, or where the CPU would raise an
 * exception: only an event leads on.
 */
export const KIND_STOPS = -1;

/** More instructions in a row are cut into several blocks. */
const MAX_INSTRUCTIONS = 4096;
/** A chain of direct jumps and calls longer than this is taken for one without end. */
const MAX_CHAIN = 64;

/** Instructions in a row up to one that may go elsewhere. */
export class ExecutionBlock {
  /** Low half of its first address, as int32. */
  readonly lo: number;
  /** High half. */
  readonly hi: number;
  /** Low and high half of each instruction's address, in turn. */
  addresses: Int32Array = new Int32Array(0);
  /** KIND_* of the last instruction, KIND_OTHER where the block was only cut, or KIND_STOPS. */
  kind = KIND_STOPS;
  /** DETAIL_* of the last instruction. */
  detail = DETAIL_NONE;
  /** Low half of the address behind the last instruction. */
  nextLo: number;
  /** High half. */
  nextHi: number;
  /** Low half of where a direct branch leads. */
  targetLo = 0;
  /** High half. */
  targetHi = 0;
  /** Times that it ran so far. */
  runs = 0;
  /** How many of its runs took the conditional jump at the end. */
  taken = 0;
  /**
   * What `targetOf` found.
   *
   * @internal
   */
  targetBlock: ExecutionBlock | null = null;
  /**
   * What `nextOf` found.
   *
   * @internal
   */
  nextBlock: ExecutionBlock | null = null;
  /**
   * What `isEndless` found.
   *
   * @internal
   */
  endless: boolean | null = null;

  constructor(lo: number, hi: number) {
    this.lo = lo;
    this.hi = hi;
    this.nextLo = lo;
    this.nextHi = hi;
  }

  /** Number of its instructions. */
  get instructions(): number {
    return this.addresses.length >>> 1;
  }

  /**
   * The last instruction is a call to the one behind it, as position-independent
   * code does to learn where it is.
   */
  get isCallToNext(): boolean {
    return this.targetLo === this.nextLo && this.targetHi === this.nextHi;
  }
}

/** The code of an image as blocks, decoded when first run. */
export class ExecutionCode {
  readonly #image: CodeImage;
  readonly #mode: number;
  readonly #isPrivileged: boolean;
  readonly #blocks = new Map<number, Map<number, ExecutionBlock>>();
  readonly #scratchInstruction = new Instruction();
  readonly #scratchAddresses = new Int32Array(2 * MAX_INSTRUCTIONS);
  readonly #scratchCode = new Uint8Array(2);

  /** `isPrivileged`: the kernel's code, too; a write of CR3 then ends a block. */
  constructor(image: CodeImage, mode: number = MODE_64, isPrivileged = false) {
    this.#image = image;
    this.#mode = mode;
    this.#isPrivileged = isPrivileged;
  }

  /** The block that begins at an address (int32 halves). */
  blockAt(lo: number, hi: number): ExecutionBlock {
    let column = this.#blocks.get(hi | 0);
    if (column === undefined) {
      column = new Map();
      this.#blocks.set(hi | 0, column);
    }
    let block = column.get(lo | 0);
    if (block === undefined) {
      block = this.#decodeBlock(lo | 0, hi | 0);
      column.set(lo | 0, block);
    }
    return block;
  }

  /** Where the direct branch at a block's end leads. */
  targetOf(block: ExecutionBlock): ExecutionBlock {
    block.targetBlock ??= this.blockAt(block.targetLo, block.targetHi);
    return block.targetBlock;
  }

  /** What is behind a block. */
  nextOf(block: ExecutionBlock): ExecutionBlock {
    block.nextBlock ??= this.blockAt(block.nextLo, block.nextHi);
    return block.nextBlock;
  }

  /** Every block decoded so far. */
  *all(): Generator<ExecutionBlock> {
    for (const column of this.#blocks.values()) yield* column.values();
  }

  /** Whether nothing but direct jumps and calls follow, round and round: no packet would ever be written. */
  isEndless(block: ExecutionBlock): boolean {
    if (block.endless !== null) return block.endless;
    let at = block;
    for (let steps = 0; steps < MAX_CHAIN; steps++) {
      if (at.kind === KIND_JUMP || at.kind === KIND_CALL) at = this.targetOf(at);
      else if (at.kind === KIND_OTHER) at = this.nextOf(at);
      else {
        block.endless = false;
        return false;
      }
    }
    block.endless = true;
    return true;
  }

  #decodeBlock(lo: number, hi: number): ExecutionBlock {
    const block = new ExecutionBlock(lo, hi);
    const instruction = this.#scratchInstruction;
    const addresses = this.#scratchAddresses;
    let count = 0;
    let kind = KIND_OTHER;
    let atLo = lo;
    let atHi = hi;
    while (kind === KIND_OTHER && count < MAX_INSTRUCTIONS) {
      const size = this.#image.decode(atLo, atHi, this.#mode, instruction);
      if (size < 0 || this.#raises(atLo, atHi, instruction)) {
        kind = KIND_STOPS;
        break;
      }
      addresses[2 * count] = atLo;
      addresses[2 * count + 1] = atHi;
      count++;
      const next = (atLo >>> 0) + size;
      if (next > 0xffff_ffff) atHi = (atHi + 1) | 0;
      atLo = next | 0;
      // Its packet can be left out: PTWRITE is not enabled.
      if (instruction.kind !== KIND_PTWRITE) kind = instruction.kind;
    }
    block.addresses = addresses.slice(0, 2 * count);
    block.kind = kind;
    block.nextLo = atLo;
    block.nextHi = atHi;
    if (kind > KIND_OTHER) {
      block.detail = instruction.detail;
      setTarget(block, instruction);
    }
    return block;
  }

  /** HLT is for the kernel, UD2 for nobody. */
  #raises(lo: number, hi: number, instruction: Instruction): boolean {
    if (instruction.detail === DETAIL_HLT) return true;
    if (instruction.kind === KIND_MOV_CR3) return !this.#isPrivileged;
    if (instruction.length !== 2) return false;
    this.#image.read(lo, hi, this.#scratchCode);
    return this.#scratchCode[0] === 0x0f && this.#scratchCode[1] === 0x0b;
  }
}

function setTarget(block: ExecutionBlock, { displacement, pointerBits }: Instruction): void {
  const sum = (block.nextLo >>> 0) + (displacement >>> 0);
  const carry = sum > 0xffff_ffff ? 1 : 0;
  block.targetLo = pointerBits === 16 ? sum & 0xffff : sum | 0;
  block.targetHi = pointerBits === 64 ? (block.nextHi + (displacement >> 31) + carry) | 0 : 0;
}
