import type { CodeSpaceLayout } from './code-space-layout.ts';

/** The top of a thread's stack at a sample, as the kernel copied it, and its registers. */
export interface StackCopy {
  view: DataView;
  /** Of the copy in `view`, and how much of it is real. */
  offset: number;
  bytes: number;
  stackPointer: number;
  framePointer: number;
  /** The interpreter's register for the offset of its bytecode; -1: it is not known. */
  bytecodeOffset: number;
  /** When it was copied, by the clock of the samples; null: nobody knows. */
  timeUs: number | null;
  tid: number;
}

/** Which function an interpreted frame is of. */
export interface InterpretedFunctions {
  readonly space: CodeSpaceLayout;
  /** Whether this is code that V8 made while it ran. */
  isGeneratedCode(address: number): boolean;
  /**
   * An address that stands for the function and the place in it; 0: nobody knows it. `bytecode` and
   * `closure` are tagged pointers, `offset` is of the frame, and `currentOffset` of the register, or -1.
   * `moment`: at which the frame was.
   */
  addressOf(
    bytecode: number,
    closure: number,
    offset: number,
    currentOffset: number,
    moment: Pick<StackCopy, 'timeUs' | 'tid'>,
  ): number;
}

const WORD = 8;
const TWO_32 = 2 ** 32;
/** Addresses of user space have no more bits in their upper half. */
const MOST_UPPER = 0x7fff;
const MOST_BYTECODE_BYTES = 1 << 28;
/** Handlers and what enters them are built into V8, one beside the other. */
const MOST_BUILTIN_BYTES = 1 << 22;

/**
 * Functions that V8 interprets, by the frames on the stack. All of them run in code of V8 itself, so their
 * return addresses say nothing; the frame does:
 *
 *     return address │ caller's frame │ context │ closure │ arguments │ bytecode │ offset in it │ registers ...
 *                    └ frame pointer
 *
 * `chain` is the kernel's, by frame pointers: its first word is the instruction, and each other one returns
 * into the next frame. Writes to `found`, for each word, the address that stands for the interpreted function
 * whose frame it runs in, or 0. Returns how many words were looked at: the copy may end before the chain.
 */
export function walkInterpretedFrames(
  functions: InterpretedFunctions,
  stack: StackCopy,
  chain: Float64Array,
  length: number,
  found: Float64Array,
): number {
  const { frame } = functions.space;
  const { view } = stack;
  const lowest = Math.min(frame.bytecodeOffset, frame.bytecode, frame.context, frame.function);
  // From the stack pointer: large addresses are no exact numbers.
  let depth = stack.framePointer - stack.stackPointer;
  for (let at = 0; at < length; at++) {
    found[at] = 0;
    if (!(depth >= 0 && depth + 2 * WORD <= stack.bytes && depth % WORD === 0)) return at;
    const place = stack.offset + depth;
    // The frame of a builtin may be smaller than what is looked at here.
    const isLarge = depth + lowest >= 0;
    if (isLarge && isInterpreted(view, place, frame) && !functions.isGeneratedCode(chain[at]!))
      found[at] = functions.addressOf(
        word(view, place + frame.bytecode),
        word(view, place + frame.function),
        view.getUint32(place + frame.bytecodeOffset + 4, true),
        at === 0 || (at === 1 && isInHandler(chain, found)) ? stack.bytecodeOffset : -1,
        stack,
      );
    // Who has changed the frame pointer meanwhile is not followed.
    if (at + 1 < length && word(view, place + WORD) !== chain[at + 1]!) return at + 1;
    const next = word(view, place) - stack.stackPointer;
    if (next <= depth) return at + 1;
    depth = next;
  }
  return length;
}

/** Whether the function of the second frame runs: some handlers of bytecodes build a frame of their own. */
function isInHandler(chain: Float64Array, found: Float64Array): boolean {
  return found[0] === 0 && Math.abs(chain[0]! - chain[1]!) < MOST_BUILTIN_BYTES;
}

function isInterpreted(view: DataView, place: number, frame: CodeSpaceLayout['frame']): boolean {
  return (
    isPointer(view, place + frame.context) &&
    isPointer(view, place + frame.function) &&
    isPointer(view, place + frame.bytecode) &&
    // The offset is a small integer: compiled code has something else there.
    view.getUint32(place + frame.bytecodeOffset, true) === 0 &&
    view.getUint32(place + frame.bytecodeOffset + 4, true) < MOST_BYTECODE_BYTES
  );
}

/** Of an object of V8's heap. */
function isPointer(view: DataView, place: number): boolean {
  return (view.getUint32(place, true) & 3) === 1 && view.getUint32(place + 4, true) <= MOST_UPPER;
}

function word(view: DataView, place: number): number {
  return view.getUint32(place + 4, true) * TWO_32 + view.getUint32(place, true);
}
