import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as op from './cfi-facts.ts';
import { evaluateExpression } from './expression.ts';
import { StackMemory } from './stack-memory.ts';

const STACK = 0x7ffc_0000_1000;

/** A stack of two words, and registers whose number says their value. */
function evaluate(bytes: number[], initial: number | null = null): number {
  const view = new DataView(new ArrayBuffer(16));
  view.setBigUint64(0, 0x7f12_3456_789an, true);
  view.setBigUint64(8, 2n ** 64n - 2n, true);
  const memory = new StackMemory();
  memory.set(view, 0, 16, STACK, true);
  const registers = Float64Array.from({ length: 17 }, (_, register) => 1000 + register);
  registers[7] = STACK;
  registers[12] = Number.NaN;
  return evaluateExpression(
    Uint8Array.from(bytes),
    { registers, memory, pointerBytes: 8, littleEndian: true },
    initial,
  );
}

test('the frame of a stub in .plt: 8 or 16 bytes, by the address in it', () => {
  // As linkers write it: rsp + 8 + ((rip & 15) >= 11) * 8. rip is 1016: 8 of 16 bytes.
  const plt = (limit: number) => [
    op.DW_OP_BREG0 + 7,
    8,
    op.DW_OP_BREG0 + 16,
    0,
    op.DW_OP_LIT0 + 15,
    op.DW_OP_AND,
    op.DW_OP_LIT0 + limit,
    op.DW_OP_GE,
    op.DW_OP_LIT0 + 3,
    op.DW_OP_SHL,
    op.DW_OP_PLUS,
  ];
  assert.equal(evaluate(plt(11)), STACK + 8);
  assert.equal(evaluate(plt(8)), STACK + 16);
});

test('memory of the stack, in whole words and in parts, exactly', () => {
  assert.equal(evaluate([op.DW_OP_BREG0 + 7, 0, op.DW_OP_DEREF]), 0x7f12_3456_789a);
  assert.equal(evaluate([op.DW_OP_BREG0 + 7, 1, op.DW_OP_DEREF_SIZE, 2]), 0x5678);
  // -2 in memory, and 5 - 2.
  assert.equal(evaluate([op.DW_OP_BREG0 + 7, 8, op.DW_OP_DEREF, op.DW_OP_LIT0 + 5, op.DW_OP_PLUS]), 3);
});

test('every operator, by numbers that tell operands apart', () => {
  const two = (code: number, second: number, top: number) =>
    evaluate([op.DW_OP_CONST1U, second, op.DW_OP_CONST1U, top, code]);
  assert.deepEqual(
    [op.DW_OP_MINUS, op.DW_OP_MUL, op.DW_OP_DIV, op.DW_OP_MOD, op.DW_OP_OR, op.DW_OP_XOR, op.DW_OP_SHR].map(
      (code) => two(code, 200, 3),
    ),
    [197, 600, 66, 2, 203, 203, 25],
  );
  assert.deepEqual(
    [op.DW_OP_EQ, op.DW_OP_NE, op.DW_OP_GT, op.DW_OP_LE, op.DW_OP_LT].map((code) => two(code, 200, 3)),
    [0, 1, 1, 0, 0],
  );
  const lits = (...values: number[]) => values.map((value) => op.DW_OP_LIT0 + value);
  assert.equal(evaluate([...lits(1, 2, 3), op.DW_OP_ROT, op.DW_OP_DROP]), 1, 'rot: 3 1 2, then 3 1');
  assert.equal(evaluate([...lits(9, 4), op.DW_OP_SWAP, op.DW_OP_MINUS, op.DW_OP_NEG]), 5);
  assert.equal(evaluate([...lits(9, 4), op.DW_OP_OVER]), 9);
  assert.equal(evaluate([...lits(9, 4, 7), op.DW_OP_PICK, 2]), 9);
  assert.equal(evaluate([op.DW_OP_CONST1S, 0xff, op.DW_OP_ABS, op.DW_OP_PLUS_UCONST, 6]), 7);
  assert.equal(evaluate([op.DW_OP_CONST1S, 0xff, op.DW_OP_NOT]), 0);
  assert.equal(evaluate([op.DW_OP_CONST1S, 0xf0, op.DW_OP_LIT0 + 2, op.DW_OP_SHRA, op.DW_OP_NEG]), 4);
  // The CFA is there first, where the rule of a register is asked for.
  assert.equal(evaluate([op.DW_OP_PLUS_UCONST, 16], 500), 516);
  // bra over a constant.
  assert.equal(evaluate([op.DW_OP_LIT0 + 8, op.DW_OP_LIT0 + 1, op.DW_OP_BRA, 1, 0, op.DW_OP_LIT0 + 3]), 8);
});

test('what cannot be had is not a number: unknown registers, other memory, damage, endless loops', () => {
  for (const bytes of [
    [op.DW_OP_BREG0 + 12, 0],
    [op.DW_OP_BREGX, 99, 0],
    [op.DW_OP_LIT0, op.DW_OP_DEREF],
    [op.DW_OP_BREG0 + 7, 12, op.DW_OP_DEREF],
    [op.DW_OP_PLUS],
    [op.DW_OP_LIT0, op.DW_OP_PICK, 5],
    [op.DW_OP_LIT0 + 1, op.DW_OP_LIT0, op.DW_OP_DIV],
    [op.DW_OP_SKIP, 0xfd, 0xff],
    [op.DW_OP_SKIP, 0x80, 0x00],
    [op.DW_OP_CONST4U, 1],
    [0xff],
    [],
  ])
    assert.equal(evaluate(bytes), Number.NaN, bytes.join(' '));
});
