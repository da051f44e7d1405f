import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
} from '@counterpoint/trace/instructions';
import type { NextInstruction } from './next-instruction.ts';

/** The deepest calls of a recursion without end are enough. */
const MOST_CALLS = 4096;

/**
 * Open calls of one thread, seen as they happen: neither frame pointers nor the stack's contents are needed.
 * What was called before the thread was watched is not known.
 */
export class CallStack {
  /** Return addresses, outermost first, and where each stands on the program's stack. */
  readonly #returns: number[];
  readonly #slots: number[];

  constructor(parent: CallStack | null = null) {
    this.#returns = parent === null ? [] : [...parent.#returns];
    this.#slots = parent === null ? [] : [...parent.#slots];
  }

  /** `done` has led to `pc`, with the stack pointer there. */
  step(done: NextInstruction, pc: number, stackPointer: number): void {
    switch (done.kind) {
      case KIND_CALL:
      case KIND_CALL_INDIRECT:
        this.#call(done.pc + done.length, stackPointer);
        return;
      case KIND_RETURN:
        this.#return(pc, stackPointer);
        return;
      case KIND_JUMP_INDIRECT:
        // longjmp; a jump through a table leaves the stack as it is.
        this.#unwindTo(stackPointer);
        return;
    }
  }

  /** Return addresses, innermost first. */
  get callers(): number[] {
    return this.#returns.toReversed();
  }

  clear(): void {
    this.#returns.length = 0;
    this.#slots.length = 0;
  }

  #call(returnAddress: number, slot: number): void {
    if (this.#returns.length >= MOST_CALLS) {
      this.#returns.shift();
      this.#slots.shift();
    }
    this.#returns.push(returnAddress);
    this.#slots.push(slot);
  }

  /** A return may leave several calls at once, as exceptions do, or go where nobody has called from. */
  #return(pc: number, stackPointer: number): void {
    const at = this.#returns.lastIndexOf(pc);
    if (at < 0) this.#unwindTo(stackPointer);
    else this.#cut(at);
  }

  /**
   * Calls whose return addresses are below the stack pointer are over. A signal's handler may have a stack of
   * its own, below or above: what is far away is another stack.
   */
  #unwindTo(stackPointer: number): void {
    let length = this.#slots.length;
    while (length > 0 && isJustBelow(this.#slots[length - 1]!, stackPointer)) length--;
    this.#cut(length);
  }

  #cut(length: number): void {
    this.#returns.length = length;
    this.#slots.length = length;
  }
}

const FAR_BYTES = 2 ** 23;

function isJustBelow(slot: number, stackPointer: number): boolean {
  return slot < stackPointer && stackPointer - slot < FAR_BYTES;
}
