import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../base/index.ts';
import { decodeInlinedCode, type InlinedCode, InlinedCodeWriter, inlinedCallsAt } from './index.ts';

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
    { functionName: 'JS:~middle /app/ä.js:9:16', parent: -1 },
    { functionName: 'JS:~inner /app/ä.js:2:15', parent: 0 },
    { functionName: 'JS:~inner /app/ä.js:2:15', parent: -1 },
  ],
  positions: [
    { offset: 2, call: -1, line: 14, column: 15 },
    { offset: 40, call: 0, line: 10, column: 1 },
    { offset: 300, call: 1, line: 3, column: 70_000 },
    { offset: 301, call: 2, line: 4, column: 1 },
  ],
};
const EMPTY: InlinedCode = { recordedName: '', start: 0, size: 0, calls: [], positions: [] };

test('pieces of code come back as they were', () => {
  for (const pieces of [[], [OUTER], [EMPTY, OUTER, { ...OUTER, start: 1 }]])
    assert.deepEqual(decodeInlinedCode(encodeInlinedCode(pieces)), pieces);
});

test('an instruction is in the calls that its position says, innermost first', () => {
  const at = (offset: number) => inlinedCallsAt(OUTER, offset);
  assert.equal(at(1), null);
  assert.deepEqual([at(2), at(39), at(40), at(299)], [[], [], [0], [0]]);
  assert.deepEqual([at(300), at(301), at(0xeab)], [[1, 0], [2], [2]]);
  assert.equal(inlinedCallsAt(EMPTY, 0), null);
});

test('what is cut, of another version, or refers to what is not there, is refused', () => {
  const whole = encodeInlinedCode([OUTER]);
  for (let length = 0; length < whole.length; length++)
    assert.throws(() => decodeInlinedCode(whole.slice(0, length)), FormatError, `${length}`);
  assert.throws(() => decodeInlinedCode(Uint8Array.of(2, 0, 0)), /version 1, found 2/);
  const later = { ...OUTER, calls: [{ functionName: 'x', parent: 0 }] };
  assert.throws(() => decodeInlinedCode(encodeInlinedCode([later])), /a row below 1, found 1/);
  const outside = { ...OUTER, calls: [] };
  assert.throws(() => decodeInlinedCode(encodeInlinedCode([outside])), /a row below 1, found 1/);
});
