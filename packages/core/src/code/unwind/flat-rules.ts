/**
 * Rules of one word each, for a reader that has no room for DWARF: a program in the kernel. They say what
 * nearly all code of x86-64 needs: where the caller's frame begins, and where its frame pointer was saved.
 * The return address is always just below the frame (CFA - 8).
 *
 *   63                  32 31          16 15           8 7        0
 *   [ offset of the CFA   | saved rbp / 8 | how rbp is found | kind ]
 *
 * Source: what gcc and LLVM write (`readelf -wF`); System V ABI, AMD64 supplement, section 3.6.2.
 */
import { X86_64 } from './architectures.ts';
import {
  type FrameRow,
  REGISTER_AT_EXPRESSION,
  REGISTER_AT_OFFSET,
  REGISTER_SAME,
  REGISTER_UNDEFINED,
} from './call-frame-program.ts';
import * as cfi from './cfi-facts.ts';

/** Nothing tells how to go on: no frame information, or more than a flat rule can say. */
export const FLAT_NONE = 0;
/** The CFA is rsp + offset. */
export const FLAT_STACK_POINTER = 1;
/** The CFA is rbp + offset. */
export const FLAT_FRAME_POINTER = 2;
/** The CFA is in memory at rbp + offset: functions that align their stack. */
export const FLAT_AT_FRAME_POINTER = 3;
/** A stub of the linker: the CFA is rsp + 8, and 8 more from the offset's byte of its 16 on. */
export const FLAT_STUB = 4;
/** The kernel's frame of a signal: rsp, rip and rbp are in it. */
export const FLAT_SIGNAL = 5;
/** Nobody has called it. */
export const FLAT_OUTERMOST = 6;

/** The function has not changed rbp. */
export const FLAT_RBP_SAME = 0;
/** It is at the CFA + 8 times the saved place. */
export const FLAT_RBP_AT_CFA = 1;
/** It is at rbp + 8 times the saved place. */
export const FLAT_RBP_AT_RBP = 2;
/** It is lost. */
export const FLAT_RBP_LOST = 3;

/** What the low byte of a flat rule, and the byte above it, say: for those who read rules elsewhere. */
export const FLAT_RULE = {
  /** How the caller's frame is found. */
  kind: {
    none: FLAT_NONE,
    stackPointer: FLAT_STACK_POINTER,
    framePointer: FLAT_FRAME_POINTER,
    atFramePointer: FLAT_AT_FRAME_POINTER,
    stub: FLAT_STUB,
    signal: FLAT_SIGNAL,
    outermost: FLAT_OUTERMOST,
  },
  /** How rbp is found. */
  rbp: { same: FLAT_RBP_SAME, atCfa: FLAT_RBP_AT_CFA, atRbp: FLAT_RBP_AT_RBP, lost: FLAT_RBP_LOST },
} as const;

const { stackPointer: RSP, framePointer: RBP, programCounter: RIP } = X86_64;
const WORD = 8;
const MOST_CFA_OFFSET = 1 << 23;
const MOST_SAVED_WORDS = 1 << 15;
/** rsp + 8 + ((rip & 15) >= N) * 8; N is the missing byte. */
const STUB_BEGIN = [0x77, 8, 0x80, 0, 0x3f, 0x1a];
const STUB_END = [0x2a, 0x33, 0x24, 0x22];
/** *(rsp + 160), *(rsp + 168): `uc_mcontext` of `struct rt_sigframe` (asm/sigframe.h). */
const SIGNAL_CFA = [0x77, 0xa0, 1, 0x06];
const SIGNAL_RIP = [0x77, 0xa8, 1];

type Expressions = readonly Uint8Array<ArrayBuffer>[];

/**
 * Rules that many places share, each once. Rule 0 is none.
 */
export class FlatRules {
  /** Words of 64 bits, low half first. */
  words = new Uint32Array(2 * 256);
  /** How many there are. */
  count = 0;
  readonly #most: number;
  readonly #byKey = new Map<number, number>();

  /** Where there are more than `most`, the rest are none. */
  constructor(most: number) {
    this.#most = most;
    this.add(FLAT_NONE, 0);
  }

  /** The number of a rule by its halves; 0 where there is no room. */
  add(low: number, offset: number): number {
    if (Math.abs(offset) >= MOST_CFA_OFFSET) return 0;
    // Offsets have 24 bits, and so the key has fewer than 53.
    const key =
      (offset + MOST_CFA_OFFSET) * 2 ** 24 + (((low >>> 16) << 8) | ((low >>> 4) & 0xf0) | (low & 0xf));
    let index = this.#byKey.get(key);
    if (index !== undefined) return index;
    if (this.count >= this.#most) return 0;
    index = this.count++;
    if (2 * this.count > this.words.length) {
      const longer = new Uint32Array(2 * this.words.length);
      longer.set(this.words);
      this.words = longer;
    }
    this.words[2 * index] = low;
    this.words[2 * index + 1] = offset;
    this.#byKey.set(key, index);
    return index;
  }
}

/** The number of the rule that a row comes to. */
export function flatRuleOf(rules: FlatRules, row: FrameRow, expressions: Expressions): number {
  const { kinds, cfaRegister, cfaOffset } = row;
  if (kinds[RIP] === REGISTER_UNDEFINED) return rules.add(FLAT_OUTERMOST, 0);
  if (cfaRegister === -1) {
    const expression = expressions[cfaOffset]!;
    if (same(expression, SIGNAL_CFA, 0) && expression.length === SIGNAL_CFA.length)
      return isSignal(row, expressions) ? rules.add(FLAT_SIGNAL, 0) : 0;
    if (!hasReturnAddress(row)) return 0;
    const threshold = stubThreshold(expression);
    if (threshold !== null) return rules.add(FLAT_STUB, threshold);
    const place = frameRelative(expression, [cfi.DW_OP_DEREF]);
    return place === null ? 0 : rules.add(FLAT_AT_FRAME_POINTER | rbpOf(row, expressions), place);
  }
  if (!hasReturnAddress(row)) return 0;
  if (cfaRegister === RSP) return rules.add(FLAT_STACK_POINTER | rbpOf(row, expressions), cfaOffset);
  if (cfaRegister === RBP) return rules.add(FLAT_FRAME_POINTER | rbpOf(row, expressions), cfaOffset);
  return 0;
}

function isSignal({ kinds, values }: FrameRow, expressions: Expressions): boolean {
  return kinds[RIP] === REGISTER_AT_EXPRESSION && same(expressions[values[RIP]!]!, SIGNAL_RIP, 0);
}

/** The return address is where every call leaves it. */
function hasReturnAddress({ kinds, values }: FrameRow): boolean {
  return kinds[RIP] === REGISTER_AT_OFFSET && values[RIP] === -WORD;
}

/** The bits of a rule that say where rbp is. */
function rbpOf({ kinds, values }: FrameRow, expressions: Expressions): number {
  const value = values[RBP]!;
  switch (kinds[RBP]) {
    case REGISTER_SAME:
      return FLAT_RBP_SAME << 8;
    case REGISTER_AT_OFFSET:
      return saved(FLAT_RBP_AT_CFA, value);
    case REGISTER_AT_EXPRESSION:
      return saved(FLAT_RBP_AT_RBP, frameRelative(expressions[value]!, []));
    default:
      return FLAT_RBP_LOST << 8;
  }
}

function saved(how: number, place: number | null): number {
  if (place === null || place % WORD !== 0 || Math.abs(place / WORD) >= MOST_SAVED_WORDS)
    return FLAT_RBP_LOST << 8;
  return ((place / WORD) << 16) | (how << 8);
}

/** N of an expression `rbp + N` with these operations behind it. */
function frameRelative(expression: Uint8Array, behind: readonly number[]): number | null {
  if (expression[0] !== cfi.DW_OP_BREG0 + RBP) return null;
  // A signed LEB128 of one or two bytes.
  const bytes = expression.length - 1 - behind.length;
  if (bytes < 1 || bytes > 2 || !same(expression, behind, 1 + bytes)) return null;
  const [low, high] = [expression[1]!, expression[2]!];
  if (bytes === 1) return low < 128 ? (low << 25) >> 25 : null;
  return low >= 128 && high < 128 ? (((low & 127) | (high << 7)) << 18) >> 18 : null;
}

/** From which byte of its 16 on a stub has put a word on the stack; null: it is no stub's. */
function stubThreshold(expression: Uint8Array): number | null {
  const literal = expression[STUB_BEGIN.length]!;
  const isStub =
    expression.length === STUB_BEGIN.length + 1 + STUB_END.length &&
    same(expression, STUB_BEGIN, 0) &&
    same(expression, STUB_END, STUB_BEGIN.length + 1) &&
    literal >= cfi.DW_OP_LIT0 &&
    literal < cfi.DW_OP_LIT0 + 16;
  return isStub ? literal - cfi.DW_OP_LIT0 : null;
}

function same(expression: Uint8Array, bytes: readonly number[], at: number): boolean {
  return bytes.every((byte, index) => expression[at + index] === byte);
}
