import { DwarfCursor } from '../elf/index.ts';
import * as op from './cfi-facts.ts';
import type { StackMemory } from './stack-memory.ts';

/** A program of a few steps: the longest that compilers write has nine. */
const MOST_STEPS = 256;
const MOST_DEPTH = 64;

/** What an expression can ask for. */
export interface ExpressionState {
  readonly registers: Float64Array;
  readonly memory: StackMemory;
  readonly pointerBytes: 4 | 8;
  readonly littleEndian: boolean;
}

/**
 * The value of a DWARF expression (DWARF 5, section 2.5) as frame information uses it: about registers and
 * the stack. NaN where it cannot be had: a register that is not known, memory that was not copied, damage.
 */
export function evaluateExpression(
  bytes: Uint8Array<ArrayBuffer>,
  state: ExpressionState,
  initial: number | null,
): number {
  const stack: bigint[] = initial === null ? [] : [BigInt(initial)];
  const cursor = new DwarfCursor(bytes, state.littleEndian);
  try {
    for (let steps = 0; cursor.at < cursor.end; steps++) {
      if (steps === MOST_STEPS || stack.length > MOST_DEPTH) return Number.NaN;
      if (!step(cursor, stack, state)) return Number.NaN;
    }
  } catch (error) {
    // What the stack lacks is undefined: no operator of bigint takes it.
    if (error instanceof TypeError || error instanceof RangeError) return Number.NaN;
    throw error;
  }
  const result = stack.pop();
  return result === undefined || cursor.isDamaged ? Number.NaN : Number(BigInt.asUintN(64, result));
}

function step(cursor: DwarfCursor, stack: bigint[], state: ExpressionState): boolean {
  const code = cursor.u8();
  if (cursor.isDamaged) return false;
  if (code >= op.DW_OP_LIT0 && code < op.DW_OP_LIT0 + 32) stack.push(BigInt(code - op.DW_OP_LIT0));
  else if (code >= op.DW_OP_BREG0 && code < op.DW_OP_BREG0 + 32)
    return pushRegister(stack, state, code - op.DW_OP_BREG0, cursor.sleb());
  else if (code === op.DW_OP_BREGX) return pushRegister(stack, state, cursor.uleb(), cursor.sleb());
  else if (code === op.DW_OP_DEREF) return dereference(stack, state, state.pointerBytes);
  else if (code === op.DW_OP_DEREF_SIZE) return dereference(stack, state, cursor.u8());
  else if (code === op.DW_OP_SKIP || code === op.DW_OP_BRA) {
    const distance = (cursor.u16() << 16) >> 16;
    if (code === op.DW_OP_SKIP || popped(stack) !== 0n) cursor.at += distance;
    return cursor.at >= 0 && cursor.at <= cursor.end;
  } else if (code !== op.DW_OP_NOP)
    return pushConstant(cursor, stack, code) || calculate(cursor, stack, code);
  return true;
}

function pushRegister(stack: bigint[], { registers }: ExpressionState, register: number, offset: number) {
  const value = registers[register] ?? Number.NaN;
  if (!Number.isSafeInteger(value)) return false;
  stack.push(BigInt(value) + BigInt(offset));
  return true;
}

function dereference(stack: bigint[], { memory }: ExpressionState, bytes: number): boolean {
  if (bytes < 1 || bytes > 8) return false;
  const value = memory.bits(Number(BigInt.asUintN(64, popped(stack))), bytes);
  if (value === null) return false;
  stack.push(value);
  return true;
}

function pushConstant(cursor: DwarfCursor, stack: bigint[], code: number): boolean {
  const constant = constantOf(cursor, code);
  if (constant === null) return false;
  stack.push(BigInt(constant));
  return true;
}

function constantOf(cursor: DwarfCursor, code: number): number | null {
  switch (code) {
    case op.DW_OP_CONST1U:
      return cursor.u8();
    case op.DW_OP_CONST1S:
      return cursor.i8();
    case op.DW_OP_CONST2U:
      return cursor.u16();
    case op.DW_OP_CONST2S:
      return (cursor.u16() << 16) >> 16;
    case op.DW_OP_CONST4U:
      return cursor.u32();
    case op.DW_OP_CONST4S:
      return cursor.u32() | 0;
    case op.DW_OP_CONST8U:
      return cursor.u64();
    case op.DW_OP_CONST8S:
      return cursor.i64();
    case op.DW_OP_CONSTU:
      return cursor.uleb();
    case op.DW_OP_CONSTS:
      return cursor.sleb();
    default:
      return null;
  }
}

function calculate(cursor: DwarfCursor, stack: bigint[], code: number): boolean {
  switch (code) {
    case op.DW_OP_DUP:
      stack.push(stack.at(-1)! + 0n);
      return true;
    case op.DW_OP_DROP:
      popped(stack);
      return true;
    case op.DW_OP_OVER:
      stack.push(stack.at(-2)! + 0n);
      return true;
    case op.DW_OP_PICK:
      stack.push(stack.at(-1 - cursor.u8())! + 0n);
      return true;
    case op.DW_OP_SWAP:
      stack.push(popped(stack), popped(stack));
      return true;
    case op.DW_OP_ROT: {
      const [top, second, third] = [popped(stack), popped(stack), popped(stack)];
      stack.push(top, third, second);
      return true;
    }
    case op.DW_OP_PLUS_UCONST:
      stack.push(popped(stack) + BigInt(cursor.uleb()));
      return true;
    case op.DW_OP_ABS: {
      const value = BigInt.asIntN(64, popped(stack));
      stack.push(value < 0n ? -value : value);
      return true;
    }
    case op.DW_OP_NEG:
      stack.push(-popped(stack));
      return true;
    case op.DW_OP_NOT:
      stack.push(~popped(stack));
      return true;
    default:
      return calculateTwo(stack, code);
  }
}

/** `second OPERATOR top`. */
function calculateTwo(stack: bigint[], code: number): boolean {
  const top = BigInt.asIntN(64, popped(stack));
  const second = BigInt.asIntN(64, popped(stack));
  const result = twoOf(code, second, top);
  if (result === null) return false;
  stack.push(BigInt.asIntN(64, result));
  return true;
}

function twoOf(code: number, second: bigint, top: bigint): bigint | null {
  const shift = top < 0n || top > 63n ? 64n : top;
  switch (code) {
    case op.DW_OP_AND:
      return second & top;
    case op.DW_OP_OR:
      return second | top;
    case op.DW_OP_XOR:
      return second ^ top;
    case op.DW_OP_PLUS:
      return second + top;
    case op.DW_OP_MINUS:
      return second - top;
    case op.DW_OP_MUL:
      return second * top;
    case op.DW_OP_DIV:
      return second / top;
    case op.DW_OP_MOD:
      return BigInt.asUintN(64, second) % BigInt.asUintN(64, top);
    case op.DW_OP_SHL:
      return second << shift;
    case op.DW_OP_SHR:
      return BigInt.asUintN(64, second) >> shift;
    case op.DW_OP_SHRA:
      return second >> shift;
    case op.DW_OP_EQ:
      return second === top ? 1n : 0n;
    case op.DW_OP_NE:
      return second === top ? 0n : 1n;
    case op.DW_OP_GE:
      return second >= top ? 1n : 0n;
    case op.DW_OP_GT:
      return second > top ? 1n : 0n;
    case op.DW_OP_LE:
      return second <= top ? 1n : 0n;
    case op.DW_OP_LT:
      return second < top ? 1n : 0n;
    default:
      return null;
  }
}

/** Throws a TypeError in the next operation where the stack is empty: `undefined` is no bigint. */
function popped(stack: bigint[]): bigint {
  return stack.pop()! + 0n;
}
