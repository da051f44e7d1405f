import type { Architecture } from './architectures.ts';
import {
  REGISTER_AT_EXPRESSION,
  REGISTER_AT_OFFSET,
  REGISTER_IN_REGISTER,
  REGISTER_IS_EXPRESSION,
  REGISTER_IS_OFFSET,
  REGISTER_UNDEFINED,
  type UnwindRule,
} from './call-frame-program.ts';
import { evaluateExpression } from './expression.ts';
import { leaveI386Signal } from './i386-signal-frame.ts';
import { StackMemory } from './stack-memory.ts';

/** Why unwinding ended. */
export const STACK_WHOLE = 0;
/** The copy of the stack ends before the stack does. */
export const STACK_CUT = 1;
/** Nothing tells how to go on, or what tells it is wrong. */
export const STACK_LOST = 2;
/** The rules of a binary have to be loaded first. */
export const STACK_WAITS = 3;

export type StackEnd = typeof STACK_WHOLE | typeof STACK_CUT | typeof STACK_LOST | typeof STACK_WAITS;

/** What `FindRule` says of an address beside rules. */
export const NO_RULE = 0;
/** No code is there. */
export const NO_CODE = 1;
export const RULE_WAITS = 2;
/** Nothing tells how the code there is left, and it keeps no frame pointer. */
export const NO_FRAME_POINTER = 3;

/** How the function that has this address is left. */
export type FindRule = (
  address: number,
) => UnwindRule | typeof NO_RULE | typeof NO_CODE | typeof RULE_WAITS | typeof NO_FRAME_POINTER;

/** As many as the largest copy of a stack (64 KiB) can hold, at two words each. */
export const MOST_FRAMES = 4096;

/**
 * Follows a copied stack from the innermost frame outwards. By frame information (DWARF 5,
 * section 6.4.3) where the binary has it, else by frame pointers, as generated code has them.
 * `addresses` are the instructions that the frames are at: of callers the byte before the return
 * address, which is inside the call.
 */
export class StackUnwinder {
  readonly memory = new StackMemory();
  /** By DWARF's numbers; NaN: not known. Values above 2^53 are rounded: they are no addresses. */
  registers: Float64Array;
  readonly addresses = new Float64Array(MOST_FRAMES);
  count = 0;
  readonly #architecture: Architecture;
  readonly #littleEndian: boolean;
  #next: Float64Array;

  constructor(architecture: Architecture, littleEndian: boolean) {
    this.#architecture = architecture;
    this.#littleEndian = littleEndian;
    this.registers = new Float64Array(architecture.perfRegisters.length);
    this.#next = new Float64Array(architecture.perfRegisters.length);
  }

  /** `registers` and `memory` are those of the sample; both are used up. */
  unwind(findRule: FindRule): StackEnd {
    const { programCounter, hasSignalContent } = this.#architecture;
    let address = this.registers[programCounter]!;
    this.count = 0;
    for (;;) {
      // A return address of 0: nobody called.
      if (!this.#isCode(address)) return address === -1 ? STACK_WHOLE : STACK_LOST;
      if (this.count === MOST_FRAMES) return STACK_CUT;
      const rule = findRule(address);
      if (rule === RULE_WAITS) return STACK_WAITS;
      // What is in no code has called nobody. Where the sample itself was the kernel knows.
      if (rule === NO_CODE && this.count > 0) return STACK_LOST;
      this.addresses[this.count++] = address;
      if (rule === NO_CODE) return STACK_LOST;
      const isKnown = typeof rule === 'object';
      if (!isKnown && hasSignalContent && leaveI386Signal(this.memory, this.registers)) {
        address = this.registers[programCounter]!;
        continue;
      }
      if (rule === NO_FRAME_POINTER) return STACK_LOST;
      if (isKnown ? isOutermost(rule) : this.#hasNoCaller()) return STACK_WHOLE;
      if (!(isKnown ? this.#byRule(rule) : this.#byFramePointer()))
        return this.memory.wasBeyond ? STACK_CUT : STACK_LOST;
      address = this.registers[programCounter]! - (isKnown && rule.isSignalFrame ? 0 : 1);
    }
  }

  /** Where a program begins the frame pointer is 0 (System V ABI, AMD64 supplement, section 3.4.1). */
  #hasNoCaller(): boolean {
    return this.registers[this.#architecture.framePointer] === 0;
  }

  #isCode(address: number): boolean {
    return address > 0 && address < this.#architecture.codeLimit;
  }

  /** False where the caller's registers cannot be had. */
  #byRule(rule: UnwindRule): boolean {
    const { stackPointer, programCounter, pointerBytes, codeLimit } = this.#architecture;
    const { registers } = this;
    const cfa = this.#cfaOf(rule);
    if (!(cfa >= 0)) return false;
    const next = this.#next;
    next.set(registers);
    next[stackPointer] = cfa;
    const list = rule.registers;
    for (let at = 0; at < list.length; at += 3) {
      const register = list[at]!;
      if (register >= next.length) continue;
      const value = list[at + 2]!;
      if (list[at + 1] === REGISTER_AT_OFFSET) next[register] = this.memory.word(cfa + value, pointerBytes);
      else next[register] = this.#value(rule, list[at + 1]!, value, cfa);
    }
    const { returnColumn } = rule;
    let address = next[returnColumn] ?? Number.NaN;
    if (Number.isNaN(address)) return false;
    // Bits that sign an address stand above it.
    if (address >= codeLimit && returnColumn !== programCounter) address %= codeLimit;
    const isStill = cfa <= registers[stackPointer]! && !rule.isSignalFrame;
    if (isStill && !this.#isLeaf(rule, cfa, address)) return false;
    next[programCounter] = address;
    this.#next = registers;
    this.registers = next;
    return true;
  }

  /** Only the innermost function may have no frame at all: its caller's address is in the link register. */
  #isLeaf({ returnColumn }: UnwindRule, cfa: number, address: number): boolean {
    const { stackPointer, programCounter, linkRegister } = this.#architecture;
    const { registers } = this;
    return (
      returnColumn === linkRegister &&
      cfa === registers[stackPointer] &&
      address !== registers[programCounter] &&
      this.count === 1
    );
  }

  #cfaOf({ cfaRegister, cfaOffset, expressions }: UnwindRule): number {
    if (cfaRegister >= 0) return (this.registers[cfaRegister] ?? Number.NaN) + cfaOffset;
    return this.#evaluate(expressions[cfaOffset]!, null);
  }

  #value(rule: UnwindRule, kind: number, value: number, cfa: number): number {
    switch (kind) {
      case REGISTER_UNDEFINED:
        return Number.NaN;
      case REGISTER_IS_OFFSET:
        return cfa + value;
      case REGISTER_IN_REGISTER:
        return this.registers[value] ?? Number.NaN;
      case REGISTER_IS_EXPRESSION:
        return this.#evaluate(rule.expressions[value]!, cfa);
      case REGISTER_AT_EXPRESSION:
        return this.memory.word(
          this.#evaluate(rule.expressions[value]!, cfa),
          this.#architecture.pointerBytes,
        );
      default:
        return Number.NaN;
    }
  }

  #evaluate(expression: Uint8Array<ArrayBuffer>, initial: number | null): number {
    const { memory, registers } = this;
    const { pointerBytes } = this.#architecture;
    const state = { registers, memory, pointerBytes, littleEndian: this.#littleEndian };
    return evaluateExpression(expression, state, initial);
  }

  /**
   * The caller of a function that keeps a frame pointer:
   *
   *     fp -> [ caller's fp | return address ] caller's frame
   */
  #byFramePointer(): boolean {
    const { stackPointer, framePointer, programCounter, pointerBytes, framePairBytes, codeLimit } =
      this.#architecture;
    const { registers, memory } = this;
    const frame = registers[framePointer]!;
    if (!(frame >= registers[stackPointer]!) || frame % pointerBytes !== 0) return false;
    const caller = memory.word(frame, pointerBytes);
    const address = memory.word(frame + pointerBytes, pointerBytes);
    if (Number.isNaN(caller) || Number.isNaN(address)) return false;
    // What else it has saved is not known.
    registers.fill(Number.NaN);
    registers[stackPointer] = frame + framePairBytes;
    registers[framePointer] = caller;
    registers[programCounter] = this.#architecture.linkRegister < 0 ? address : address % codeLimit;
    return true;
  }
}

/** The return address is undefined: nobody called it (DWARF 5, section 6.4.4). */
function isOutermost({ registers, returnColumn }: UnwindRule): boolean {
  for (let at = 0; at < registers.length; at += 3)
    if (registers[at] === returnColumn) return registers[at + 1] === REGISTER_UNDEFINED;
  return false;
}
