import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ARM64, type Architecture, I386, X86_64 } from './architectures.ts';
import { REGISTER_AT_OFFSET, REGISTER_UNDEFINED, type UnwindRule } from './call-frame-program.ts';
import {
  type FindRule,
  NO_CODE,
  NO_FRAME_POINTER,
  NO_RULE,
  RULE_WAITS,
  STACK_CUT,
  STACK_LOST,
  STACK_WAITS,
  STACK_WHOLE,
  StackUnwinder,
} from './stack-unwinder.ts';

const STACK = 0x7f00_0000;
const CODE = 0x40_0000;

const rule = (facts: Partial<UnwindRule>): UnwindRule => ({
  cfaRegister: X86_64.stackPointer,
  cfaOffset: 8,
  registers: Int32Array.of(16, REGISTER_AT_OFFSET, -8),
  expressions: [],
  returnColumn: 16,
  isSignalFrame: false,
  ...facts,
});
const OUTERMOST = rule({ registers: Int32Array.of(16, REGISTER_UNDEFINED, 0) });

interface Sampled {
  architecture?: Architecture;
  /** Words of the stack, from the stack pointer up. */
  words: number[];
  registers?: Record<number, number>;
  /** Code of the program, by distance from its beginning, where its functions begin. */
  rules: Record<number, UnwindRule | typeof NO_RULE | typeof RULE_WAITS | typeof NO_FRAME_POINTER>;
  at?: number;
}

function unwind({ architecture = X86_64, words, registers = {}, rules, at = 0 }: Sampled) {
  const { pointerBytes, stackPointer, programCounter } = architecture;
  const view = new DataView(new ArrayBuffer(words.length * pointerBytes));
  words.forEach((word, index) => {
    if (pointerBytes === 8) view.setBigUint64(index * 8, BigInt(word), true);
    else view.setUint32(index * 4, word, true);
  });
  const unwinder = new StackUnwinder(architecture, true);
  unwinder.registers.fill(Number.NaN);
  unwinder.registers[stackPointer] = STACK;
  unwinder.registers[programCounter] = CODE + at;
  for (const [register, value] of Object.entries(registers)) unwinder.registers[Number(register)] = value;
  unwinder.memory.set(view, 0, view.byteLength, STACK, true);
  const find: FindRule = (address) => {
    if (address < CODE || address >= CODE + 0x1000) return NO_CODE;
    const starts = Object.keys(rules).map(Number);
    const start = starts.filter((one) => CODE + one <= address).at(-1);
    return start === undefined ? NO_RULE : rules[start]!;
  };
  const end = unwinder.unwind(find);
  return {
    end,
    frames: [...unwinder.addresses.subarray(0, unwinder.count)].map((address) => address - CODE),
  };
}

test('callers by rules: of each the byte before its return address', () => {
  const found = unwind({
    words: [CODE + 0x105, 1, 2, CODE + 0x209],
    rules: { 0: rule({}), 256: rule({ cfaOffset: 24 }), 512: OUTERMOST },
    at: 0x10,
  });
  assert.deepEqual(found, { end: STACK_WHOLE, frames: [0x10, 0x104, 0x208] });
});

test('a call at the very end of a function is the function, not the one behind it', () => {
  const found = unwind({ words: [CODE + 0x100], rules: { 0: rule({}), 128: OUTERMOST, 256: NO_RULE } });
  assert.deepEqual(found.frames, [0, 0xff]);
  assert.equal(found.end, STACK_WHOLE);
});

test('of who was interrupted by a signal the instruction itself', () => {
  const signal = rule({ isSignalFrame: true });
  const found = unwind({ words: [CODE + 0x100], rules: { 0: signal, 256: OUTERMOST } });
  assert.deepEqual(found.frames, [0, 0x100]);
});

test('code without rules keeps frame pointers; 0 is the first', () => {
  const { framePointer } = X86_64;
  const words = [7, 7, STACK + 40, CODE + 0x105, 7, 0, CODE + 0x209];
  const rules = { 0: NO_RULE, 256: NO_RULE, 512: NO_RULE } as const;
  const registers = { [framePointer]: STACK + 16 };
  assert.deepEqual(unwind({ words, registers, rules }), { end: STACK_WHOLE, frames: [0, 0x104, 0x208] });
  // Below the stack, off its words, or into data: it is no frame pointer.
  for (const frame of [STACK - 8, STACK + 17, STACK + 8])
    assert.deepEqual(unwind({ words, rules, registers: { [framePointer]: frame } }), {
      end: STACK_LOST,
      frames: [0],
    });
});

test('a copy that ends before the stack does is cut, not lost', () => {
  const deep = { 0: rule({}), 256: rule({ cfaOffset: 800 }) };
  assert.deepEqual(unwind({ words: [CODE + 0x105, 1], rules: deep }), { end: STACK_CUT, frames: [0, 0x104] });
  const byPointer = { words: [1], rules: { 0: NO_RULE }, registers: { [X86_64.framePointer]: STACK + 64 } };
  assert.equal(unwind({ ...byPointer, rules: { 0: NO_RULE } }).end, STACK_CUT);
});

test('a stack that goes on where no copy reaches is lost: a handler with a stack of its own', () => {
  const signal = (distance: number) => rule({ isSignalFrame: true, cfaOffset: distance });
  const words = [CODE + 0x105, CODE + 0x205];
  // Into the copy, or as far as the largest one goes, and behind it.
  for (const [distance, end] of [
    [65528, STACK_CUT],
    [65536, STACK_LOST],
    [2 ** 40, STACK_LOST],
  ] as const)
    assert.equal(
      unwind({ words, rules: { 0: rule({}), 256: signal(distance - 8) } }).end,
      end,
      `${distance}`,
    );
});

test('a stack that does not go on upwards ends: no rule makes it run in circles', () => {
  const still = rule({ cfaOffset: 0, registers: Int32Array.of(16, REGISTER_AT_OFFSET, 0) });
  assert.deepEqual(unwind({ words: [CODE, CODE], rules: { 0: still } }), { end: STACK_LOST, frames: [0] });
  const below = rule({ cfaOffset: -64, registers: Int32Array.of(16, REGISTER_AT_OFFSET, 64) });
  assert.equal(unwind({ words: [CODE, CODE], rules: { 0: below } }).frames.length, 1);
});

test('rules that are not there yet are waited for', () => {
  assert.equal(unwind({ words: [CODE + 0x105], rules: { 0: rule({}), 256: RULE_WAITS } }).end, STACK_WAITS);
});

test('arm64: callers in the link register, and return addresses that are signed', () => {
  const { linkRegister: lr, framePointer: fp, stackPointer } = ARM64;
  const leaf: Partial<UnwindRule> = { cfaRegister: stackPointer, cfaOffset: 0, returnColumn: lr };
  const signature = 2 ** 48 * 0x12;
  const saved = rule({
    cfaRegister: stackPointer,
    cfaOffset: 16,
    registers: Int32Array.of(fp, REGISTER_AT_OFFSET, -16, lr, REGISTER_AT_OFFSET, -8),
    returnColumn: lr,
  });
  const found = unwind({
    architecture: ARM64,
    words: [0, signature + CODE + 0x204],
    registers: { [lr]: CODE + 0x104 },
    rules: {
      0: rule({ ...leaf, registers: new Int32Array() }),
      256: saved,
      512: rule({ ...leaf, registers: Int32Array.of(lr, REGISTER_UNDEFINED, 0) }),
    },
  });
  assert.deepEqual(found, { end: STACK_WHOLE, frames: [0, 0x103, 0x203] });
});

test('32-bit programs have words of four bytes', () => {
  const found = unwind({
    architecture: I386,
    words: [CODE + 0x105, 3, CODE + 0x209],
    rules: {
      0: rule({
        cfaRegister: 4,
        cfaOffset: 4,
        registers: Int32Array.of(8, REGISTER_AT_OFFSET, -4),
        returnColumn: 8,
      }),
      256: rule({
        cfaRegister: 4,
        cfaOffset: 8,
        registers: Int32Array.of(8, REGISTER_AT_OFFSET, -4),
        returnColumn: 8,
      }),
      512: rule({ cfaRegister: 4, registers: Int32Array.of(8, REGISTER_UNDEFINED, 0), returnColumn: 8 }),
    },
  });
  assert.deepEqual(found, { end: STACK_WHOLE, frames: [0, 0x104, 0x208] });
});

test('a caller that is in no code is not shown, however it was found', () => {
  const rules = { 0: rule({}), 256: NO_RULE } as const;
  const elsewhere = CODE + 0x5005;
  assert.deepEqual(unwind({ words: [elsewhere], rules }), { end: STACK_LOST, frames: [0] });
  const registers = { [X86_64.framePointer]: STACK };
  const words = [STACK + 32, elsewhere];
  assert.deepEqual(unwind({ words, rules: { 0: NO_RULE }, registers }), { end: STACK_LOST, frames: [0] });
  // Of the sample itself the kernel knows where it was.
  assert.deepEqual(unwind({ words: [CODE], rules, at: 0x5000 }), { end: STACK_LOST, frames: [0x5000] });
});

describe('i386: a signal is known by what the kernel put on the stack', () => {
  const BUSY = 0;
  const HANDLER = 0x100;
  const TRAMPOLINE = 0x200;
  const APP = 0x300;
  const esp = I386.stackPointer;
  const frameOf = (cfaOffset: number) =>
    rule({
      cfaRegister: esp,
      cfaOffset,
      registers: Int32Array.of(8, REGISTER_AT_OFFSET, -4),
      returnColumn: 8,
    });
  const outermost = rule({
    cfaRegister: esp,
    registers: Int32Array.of(8, REGISTER_UNDEFINED, 0),
    returnColumn: 8,
  });
  /** The kernel's frame begins behind the return addresses of `busy` and the handler. */
  const FRAME = STACK + 4 + 4;
  const STACK_BEFORE = FRAME + 1024;

  /** `struct sigcontext_32`: the interrupted code was in `busy`, too, which `app` had called. */
  function savedRegisters(at: Map<number, number>, from: number): void {
    const values = { 16: 0xd1, 20: 0x51, 24: 0xeb, 28: STACK_BEFORE, 32: 0xeb5, 56: CODE + 0x10, 60: 0x23 };
    for (const [place, value] of Object.entries(values)) at.set(from + Number(place), value);
    at.set(STACK_BEFORE, CODE + APP + 5);
  }

  function unwindSignal(at: Map<number, number>, endAt = STACK_BEFORE + 4) {
    at.set(STACK, CODE + HANDLER + 5);
    at.set(STACK + 4, 0);
    at.set(FRAME, CODE + TRAMPOLINE);
    const words = Array.from({ length: (endAt - STACK) / 4 }, (_, n) => at.get(STACK + n * 4) ?? 0);
    const rules = {
      [BUSY]: frameOf(4),
      [HANDLER]: frameOf(8),
      // The byte before the trampoline is another function's, or nobody's.
      [TRAMPOLINE - 1]: NO_FRAME_POINTER,
      [APP]: outermost,
    } as const;
    return unwind({ architecture: I386, words, rules, at: 0x20 });
  }
  const WHOLE = { end: STACK_WHOLE, frames: [0x20, HANDLER + 4, TRAMPOLINE - 1, 0x10, APP + 4] };

  test('struct sigframe_ia32, by the code that nobody runs', () => {
    const at = new Map<number, number>();
    at.set(FRAME + 4, 10);
    savedRegisters(at, FRAME + 8);
    at.set(FRAME + 724, 0x0077_b858);
    at.set(FRAME + 728, 0x80cd_0000);
    assert.deepEqual(unwindSignal(at), WHOLE);
  });

  test('struct rt_sigframe_ia32 (SA_SIGINFO), by its pointers into itself', () => {
    const at = new Map<number, number>();
    at.set(FRAME + 4, 10);
    at.set(FRAME + 8, FRAME + 16);
    at.set(FRAME + 12, FRAME + 144);
    savedRegisters(at, FRAME + 164);
    assert.deepEqual(unwindSignal(at), WHOLE);
    // On another stack than the handler's, which no copy reaches: one frame more is known, and no word of it.
    at.set(FRAME + 164 + 28, STACK + 0x1_0000);
    assert.deepEqual(unwindSignal(at), { end: STACK_LOST, frames: WHOLE.frames.slice(0, 4) });
    // The copy ends in it.
    assert.deepEqual(unwindSignal(at, FRAME + 164), { end: STACK_LOST, frames: WHOLE.frames.slice(0, 3) });
  });

  test('a stack that is neither ends there', () => {
    const at = new Map([[STACK_BEFORE, CODE + APP + 5]]);
    assert.deepEqual(unwindSignal(at), { end: STACK_LOST, frames: WHOLE.frames.slice(0, 3) });
  });
});
