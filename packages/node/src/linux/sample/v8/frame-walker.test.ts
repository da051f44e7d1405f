/** Frames of V8's interpreter on a copied stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CodeSpaceLayout } from './code-space-layout.ts';
import { type InterpretedFunctions, type StackCopy, walkInterpretedFrames } from './frame-walker.ts';

const FRAME = { context: -8, function: -16, bytecode: -32, bytecodeOffset: -40 };
const STACK_POINTER = 0x7fff_0000_1000;
const BYTECODE = 0x1234_5678_9001;
const CLOSURE = 0x1234_5678_a001;
const RETURNS_TO = 0x5555_0000_2000;
const NAMED = 2 ** 48;

const functions: InterpretedFunctions = {
  space: { frame: FRAME } as CodeSpaceLayout,
  isGeneratedCode: () => false,
  addressOf: (bytecode, closure) => (bytecode === BYTECODE && closure === CLOSURE ? NAMED : 0),
};

/** A stack of words, at ascending addresses from the stack pointer. */
function stackOf(framePointerAt: number, words: readonly number[]): StackCopy {
  const view = new DataView(new ArrayBuffer(words.length * 8));
  for (const [at, word] of words.entries()) view.setBigUint64(at * 8, BigInt(word), true);
  return {
    view,
    offset: 0,
    bytes: view.byteLength,
    stackPointer: STACK_POINTER,
    framePointer: STACK_POINTER + framePointerAt * 8,
    bytecodeOffset: -1,
    timeUs: null,
    tid: 1,
  };
}

const at = (word: number) => STACK_POINTER + word * 8;
/**
 * Offset in the bytecode (a Smi), bytecode, arguments, closure, context; then the caller's frame
 * pointer, and where it returns to.
 */
const INTERPRETED = (caller: number) => [7 * 2 ** 32, BYTECODE, 3, CLOSURE, CLOSURE, caller, RETURNS_TO];

test('a builtin whose frame is smaller than an interpreted one does not hide its caller', () => {
  // Its frame pointer is one word above the stack pointer.
  const words = [11, at(8), RETURNS_TO, ...INTERPRETED(at(20))];
  const chain = Float64Array.of(0x5555_0000_1000, RETURNS_TO);
  const found = new Float64Array(2);
  assert.equal(walkInterpretedFrames(functions, stackOf(1, words), chain, 2, found), 2);
  assert.deepEqual([...found], [0, NAMED]);
});

test('what is not in the copy is not looked at', () => {
  const chain = Float64Array.of(0x5555_0000_1000, RETURNS_TO);
  const found = new Float64Array(2);
  const words = [11, at(8), RETURNS_TO, ...INTERPRETED(at(20))];
  for (const framePointerAt of [-1, words.length - 1, words.length, 2 ** 30])
    assert.equal(walkInterpretedFrames(functions, stackOf(framePointerAt, words), chain, 2, found), 0);
});
