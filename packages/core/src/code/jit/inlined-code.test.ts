import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../../base/index.ts';
import { codePlacesAt, decodeInlinedCode, type InlinedCode, InlinedCodeWriter } from './index.ts';

function encodeInlinedCode(pieces: readonly InlinedCode[]): Uint8Array<ArrayBuffer> {
  const writer = new InlinedCodeWriter();
  for (const piece of pieces) writer.add(piece);
  return writer.bytes();
}

/** `outer` calls `middle`, which calls `inner`; all are inlined. */
const OUTER: InlinedCode = {
  recordedName: 'JS:*outer /app/ä.js:14:15',
  start: 0x7f5d_0200_1980,
  size: 0xeac,
  calls: [
    { functionName: 'JS:~middle /app/ä.js:9:16', parent: -1, line: 15, column: 9 },
    { functionName: 'JS:~inner /app/ä.js:2:15', parent: 0, line: 10, column: 300 },
    { functionName: 'JS:~inner /app/ä.js:2:15', parent: -1, line: 0, column: 0 },
  ],
  positions: [
    { offset: 2, call: -1, line: 14, column: 15 },
    { offset: 40, call: 0, line: 10, column: 1 },
    { offset: 300, call: 1, line: 3, column: 70_000 },
    { offset: 301, call: 2, line: 4, column: 1 },
  ],
};
const EVALUATED: InlinedCode = {
  ...OUTER,
  recordedName: 'JS:*f :1:2',
  functionName: 'JS:~f eval at g (/x.js:1:1), <anonymous>:1:2',
};
const EMPTY: InlinedCode = { recordedName: '', start: 0, size: 0, calls: [], positions: [] };

test('pieces of code come back as they were', () => {
  for (const pieces of [[], [OUTER], [EMPTY, OUTER, EVALUATED, { ...OUTER, start: 1 }]])
    assert.deepEqual(decodeInlinedCode(encodeInlinedCode(pieces)), pieces);
});

test('an instruction is in the functions that its position says, each at the call of the next one', () => {
  const at = (offset: number) =>
    codePlacesAt(OUTER, offset).map(({ call, line, column }) => [call, line, column]);
  assert.deepEqual(at(1), []);
  assert.deepEqual(at(2), [[-1, 14, 15]]);
  assert.deepEqual(at(39), at(2));
  assert.deepEqual(at(40), [
    [0, 10, 1],
    [-1, 15, 9],
  ]);
  assert.deepEqual(at(299), at(40));
  assert.deepEqual(at(300), [
    [1, 3, 70_000],
    [0, 10, 300],
    [-1, 15, 9],
  ]);
  assert.deepEqual(at(0xeab), [
    [2, 4, 1],
    [-1, 0, 0],
  ]);
  assert.deepEqual(codePlacesAt(EMPTY, 0), []);
});

test('what is cut, of another version, or refers to what is not there, is refused', () => {
  const whole = encodeInlinedCode([OUTER]);
  for (let length = 0; length < whole.length; length++)
    assert.throws(() => decodeInlinedCode(whole.slice(0, length)), FormatError, `${length}`);
  assert.throws(() => decodeInlinedCode(Uint8Array.of(4, 0, 0)), /version 3, found 4/);
  const later = { ...OUTER, calls: [{ functionName: 'x', parent: 0, line: 0, column: 0 }] };
  assert.throws(() => decodeInlinedCode(encodeInlinedCode([later])), /a row below 1, found 1/);
  const outside = { ...OUTER, calls: [] };
  assert.throws(() => decodeInlinedCode(encodeInlinedCode([outside])), /a row below 1, found 1/);
});

test('older recordings have no names of functions that eval made', () => {
  // Version 2: names a, b | one piece: a, address 5, 9 bytes | call of b at 7:8 | position 0 in it, 3:4
  const bytes = Uint8Array.of(2, 2, 1, 0x61, 1, 0x62, 1, 0, 0, 5, 9, 1, 1, 0, 7, 8, 1, 0, 1, 3, 4);
  const [code] = decodeInlinedCode(bytes);
  assert.equal(code!.functionName, undefined);
  assert.deepEqual(codePlacesAt(code!, 8), [
    { call: 0, line: 3, column: 4 },
    { call: -1, line: 7, column: 8 },
  ]);
});

test('older recordings have no places of calls', () => {
  // Version 1: names a, b | one piece: a, address 5, 9 bytes | call of b | position 0 in it, 3:4
  const bytes = Uint8Array.of(1, 2, 1, 0x61, 1, 0x62, 1, 0, 0, 5, 9, 1, 1, 0, 1, 0, 1, 3, 4);
  const [code] = decodeInlinedCode(bytes);
  assert.deepEqual(codePlacesAt(code!, 8), [
    { call: 0, line: 3, column: 4 },
    { call: -1, line: 0, column: 0 },
  ]);
});
