/**
 * Code as the trace sees it: a node is the straight way from an address to the next instruction whose outcome
 * the trace must tell. Direct jumps and calls are followed, for the trace says nothing of them.
 *
 *      node 7 at 0x401000           node 9 at 0x401012
 *      test  call f  ...  je ────1──> mov  cmp  jmp *rax ──TIP──> ?
 *            └ pushes 0x401009 │
 *                              └─0──> node 12 at 0x40100e
 *
 * A node is known by its address alone until it is compiled, when it is executed first. Any address can be a
 * node, also in the middle of another one's way.
 */
import { TripleTable } from '@counterpoint/core/base';
import { Int32Column } from '@counterpoint/core/profile';
import { type CodeImage, EVERY_ADDRESS_SPACE, granuleOf, LATEST } from '../../code/image/index.ts';
import {
  Instruction,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_MOV_CR3,
  KIND_RETURN,
  LONGEST_INSTRUCTION,
  MODE_64,
} from '../../code/instructions/index.ts';

/** Not compiled yet. */
export const END_UNKNOWN = 0;
export const END_CONDITIONAL = 1;
// From here to END_FAR: the trace can give the target.
export const END_RETURN = 2;
export const END_JUMP_INDIRECT = 3;
export const END_CALL_INDIRECT = 4;
/** System calls, interrupts, far branches and their returns. */
export const END_FAR = 5;
/**
 * No code is known there, or it is no instruction, or it goes round for ever: the exact decoder says which.
 */
export const END_BLOCKED = 6;

/**
 * Nodes that only packets have named, beyond those that code leads to: a sound trace has next to none (where
 * it ends before the target is executed), a damaged or hostile one as many as it has packets.
 */
const MOST_STRAYS = 1 << 14;
/**
 * Nodes and calls on their ways: some 30 MiB. Programs that execute more begin anew, too, but not before
 * their steps have done so eight times (StepTable), so that it costs them little.
 */
const MOST_NODES = 1 << 19;
/** 16 MiB of code, some 40 MiB for the set. */
const MOST_GRANULES = 1 << 20;
/**
 * Others that a node with code leads to, but for its calls: two ways out, behind
 * a call, behind a write of CR3.
 */
const MOST_SUCCESSORS = 4;
/** Where an endless loop without a branch that is traced has surely been gone round. */
const MOST_INSTRUCTIONS = 1 << 14;
const TWO_32 = 0x1_0000_0000;
/** Third key of node 0, which no address has. */
const NO_ADDRESS = 1;

/** What `walk` calls for each instruction of a node's way; `size` in bytes. Ends with the deciding one. */
export type InstructionVisitor = (
  lo: number,
  hi: number,
  size: number,
  kind: number,
  displacement: number,
) => void;

export interface CodeGraphOptions {
  /** MODE_64, MODE_32 or MODE_16: the same bytes are other instructions in another mode. */
  readonly mode: number;
  /** As in CodeImage; every one's where absent. */
  readonly addressSpace?: number;
  /** What the image is asked with. */
  readonly time?: number;
  /** Keep in mind which code was looked at: `granules`. */
  readonly isTracked?: boolean;
}

export class CodeGraph {
  /** One of END_*, by node. */
  readonly end = new Int32Column();
  /** On the way, with the deciding one. */
  readonly instructions = new Int32Column();
  /** Where a conditional branch goes. */
  readonly taken = new Int32Column();
  readonly notTaken = new Int32Column();
  /** Calls on the way: where their returns go, in `pushes` from `firstPush` on, outermost first. */
  readonly firstPush = new Int32Column();
  readonly pushCount = new Int32Column();
  readonly pushes = new Int32Column();
  /**
   * The node behind a call at the end, near or far: tracing that goes off there is expected
   * to go on with it. 0: no call.
   */
  readonly behindCall = new Int32Column();
  /** The node behind the first instruction on the way that writes CR3. 0: none does. */
  readonly behindCr3 = new Int32Column();

  readonly mode: number;
  readonly addressSpace: number;
  readonly #image: CodeImage;
  /** May move on while no code changes that the graph has looked at. */
  time: number;
  /** Where code was looked at, found or not; null where nobody asked for it. */
  readonly granules: Set<number> | null;
  readonly #instruction = new Instruction();
  readonly #addresses = new TripleTable();
  /** Nodes where code is. */
  #compiled = 0;

  constructor(image: CodeImage, options: CodeGraphOptions) {
    this.#image = image;
    this.mode = options.mode;
    this.addressSpace = options.addressSpace ?? EVERY_ADDRESS_SPACE;
    this.time = options.time ?? LATEST;
    this.granules = options.isTracked === true ? new Set() : null;
    // Node 0 is none.
    this.#addNode();
    this.#addresses.find(0, 0, NO_ADDRESS);
  }

  /** Nodes so far, with 0, which is none. */
  get size(): number {
    return this.#addresses.length;
  }

  /** Has no room for more: begin a new one. */
  get isFull(): boolean {
    return (
      this.size + this.pushes.length > MOST_NODES ||
      (this.granules !== null && this.granules.size > MOST_GRANULES)
    );
  }

  /** Full, or most of it is not code: begin a new one. */
  get isOvergrown(): boolean {
    return (
      this.isFull || this.size > MOST_STRAYS + this.#compiled * (MOST_SUCCESSORS + 1) + this.pushes.length
    );
  }

  /** The node that begins at an address (int32 halves). */
  nodeAt(lo: number, hi: number): number {
    const node = this.#addresses.find(lo, hi, 0);
    if (node >= 0) return node;
    this.#addNode();
    return -1 - node;
  }

  loOf(node: number): number {
    return this.#addresses.firstAt(node);
  }

  hiOf(node: number): number {
    return this.#addresses.secondAt(node);
  }

  /** How the node ends; compiled when first asked for. */
  endOf(node: number): number {
    const end = this.end.at(node);
    return end !== END_UNKNOWN ? end : this.#compile(node);
  }

  /** The image may have code by now where it had none. Steps that were worked out are void then. */
  lookAgain(): void {
    const ends = this.end.data;
    for (let node = 1; node < this.size; node++) if (ends[node] === END_BLOCKED) ends[node] = END_UNKNOWN;
  }

  /** Is an address that of an instruction on the node's way, with no call before it? */
  isBeforeCalls(node: number, lo: number, hi: number): boolean {
    this.endOf(node);
    let isFound = false;
    let isBehindCall = false;
    this.walk(node, (atLo, atHi, _size, kind) => {
      if (atLo === lo && atHi === hi && !isBehindCall) isFound = true;
      if (kind === KIND_CALL) isBehindCall = true;
    });
    return isFound;
  }

  /** Go a node's way again, instruction by instruction. */
  walk(node: number, visit: InstructionVisitor): void {
    const walker = new Way(
      this.#image,
      this.mode,
      this.time,
      this.addressSpace,
      this.loOf(node),
      this.hiOf(node),
    );
    for (let left = this.instructions.at(node); left > 0; left--) {
      const { lo, hi } = walker;
      const size = walker.next(this.#instruction);
      if (size <= 0) return;
      visit(lo, hi, size, this.#instruction.kind, this.#instruction.displacement);
      walker.follow(this.#instruction);
    }
  }

  #compile(node: number): number {
    const instruction = this.#instruction;
    const way = new Way(
      this.#image,
      this.mode,
      this.time,
      this.addressSpace,
      this.loOf(node),
      this.hiOf(node),
    );
    const firstPush = this.pushes.length;
    let count = 0;
    let end = END_BLOCKED;
    while (count < MOST_INSTRUCTIONS) {
      const { lo, hi } = way;
      const size = way.next(instruction);
      if (this.granules !== null) this.#track(this.granules, lo, hi, size);
      if (size <= 0) break;
      count++;
      const { kind } = instruction;
      if (kind === KIND_CALL || kind === KIND_CALL_INDIRECT) {
        // A call to the next instruction only asks where it is: the processor does not expect its return.
        if (kind === KIND_CALL_INDIRECT || instruction.displacement !== 0)
          this.pushes.push(this.nodeAt(way.lo, way.hi));
      }
      if (kind === KIND_CALL_INDIRECT || kind === KIND_FAR_CALL || kind === KIND_MOV_CR3) {
        // Before the columns are looked at: a new node may replace them.
        const behind = this.nodeAt(way.lo, way.hi);
        if (kind !== KIND_MOV_CR3) this.behindCall.data[node] = behind;
        else if (this.behindCr3.at(node) === 0) this.behindCr3.data[node] = behind;
      }
      if (kind === KIND_CONDITIONAL) {
        const notTaken = this.nodeAt(way.lo, way.hi);
        way.follow(instruction);
        const taken = this.nodeAt(way.lo, way.hi);
        this.notTaken.data[node] = notTaken;
        this.taken.data[node] = taken;
      }
      end = endOfKind(kind);
      if (end !== END_UNKNOWN) break;
      way.follow(instruction);
      end = END_BLOCKED;
    }
    this.instructions.data[node] = count;
    this.firstPush.data[node] = firstPush;
    this.pushCount.data[node] = this.pushes.length - firstPush;
    this.end.data[node] = end;
    if (count > 0) this.#compiled++;
    return end;
  }

  #track(granules: Set<number>, lo: number, hi: number, size: number): void {
    const first = granuleOf(lo, hi);
    const rest = (size > 0 ? size : LONGEST_INSTRUCTION) - 1;
    granules.add(first);
    // An instruction is no longer than a granule.
    if ((lo & 15) + rest >= 16) granules.add(first + 1);
  }

  #addNode(): void {
    this.end.push(END_UNKNOWN);
    this.instructions.push(0);
    this.taken.push(0);
    this.notTaken.push(0);
    this.firstPush.push(0);
    this.pushCount.push(0);
    this.behindCall.push(0);
    this.behindCr3.push(0);
  }
}

/** A place in the code that moves on as the processor does where it has no choice. */
class Way {
  lo: number;
  hi: number;
  readonly #image: CodeImage;
  readonly #mode: number;
  readonly #time: number;
  readonly #addressSpace: number;

  constructor(image: CodeImage, mode: number, time: number, addressSpace: number, lo: number, hi: number) {
    this.#image = image;
    this.#mode = mode;
    this.#time = time;
    this.#addressSpace = addressSpace;
    this.lo = lo;
    this.hi = hi;
  }

  /** Decode here and stand behind it. Bytes, or nothing above 0. */
  next(out: Instruction): number {
    const size = this.#image.decode(this.lo, this.hi, this.#mode, out, this.#time, this.#addressSpace);
    if (size > 0) this.#move(size);
    return size;
  }

  /**
   * Take the direct branch that was decoded last; nothing for other instructions
   * (XBEGIN has a displacement, too).
   */
  follow(instruction: Readonly<Instruction>): void {
    const { kind } = instruction;
    if (kind !== KIND_JUMP && kind !== KIND_CALL && kind !== KIND_CONDITIONAL) return;
    this.#move(instruction.displacement);
    if (instruction.pointerBits !== 64) this.hi = 0;
    if (instruction.pointerBits === 16) this.lo &= 0xffff;
  }

  #move(distance: number): void {
    const sum = (this.lo >>> 0) + distance;
    this.lo = sum | 0;
    if (this.#mode !== MODE_64) this.hi = 0;
    else if (sum < 0 || sum >= TWO_32) this.hi = (this.hi + (sum < 0 ? -1 : 1)) | 0;
  }
}

function endOfKind(kind: number): number {
  switch (kind) {
    case KIND_CONDITIONAL:
      return END_CONDITIONAL;
    case KIND_RETURN:
      return END_RETURN;
    case KIND_JUMP_INDIRECT:
      return END_JUMP_INDIRECT;
    case KIND_CALL_INDIRECT:
      return END_CALL_INDIRECT;
    case KIND_FAR_CALL:
    case KIND_FAR_RETURN:
    case KIND_FAR_JUMP:
      return END_FAR;
    default:
      return END_UNKNOWN;
  }
}
