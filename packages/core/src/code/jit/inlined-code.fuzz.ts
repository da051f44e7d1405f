import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../../base/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import { codePlacesAt, decodeInlinedCode, type InlinedCode, InlinedCodeWriter } from './index.ts';

function encodeInlinedCode(pieces: readonly InlinedCode[]): Uint8Array<ArrayBuffer> {
  const writer = new InlinedCodeWriter();
  for (const piece of pieces) writer.add(piece);
  return writer.bytes();
}

test('damaged inlined code: nothing thrown but FormatError, no more than the bytes can hold, no circles', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  await fuzz(
    'inlined-code',
    (random) => {
      const pieces = Array.from({ length: random.below(4) }, (): InlinedCode => {
        const calls = Array.from({ length: random.below(5) }, (_, row) => ({
          functionName: `f${random.below(3)}`,
          parent: random.below(row + 1) - 1,
          line: random.below(500),
          column: random.below(500),
        }));
        const positions = Array.from({ length: random.below(6) }, (_, row) => ({
          offset: 3 * row,
          call: random.below(calls.length + 1) - 1,
          line: random.below(500),
          column: random.below(500),
        }));
        return { recordedName: 'f', start: random.below(2 ** 31), size: 30, calls, positions };
      });
      const whole = encodeInlinedCode(pieces);
      for (let flips = random.below(6); flips > 0; flips--)
        whole[random.below(whole.length)] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)]);
      input = random.oneIn(2) ? whole : whole.slice(0, random.below(whole.length + 1));
      try {
        const read = decodeInlinedCode(input);
        const rows = read.reduce((sum, { calls, positions }) => sum + 1 + calls.length + positions.length, 0);
        assert.ok(rows <= input.length);
        for (const code of read)
          for (const { offset } of code.positions)
            assert.ok(codePlacesAt(code, offset).length <= 1 + code.calls.length);
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error));
      }
    },
    () => input,
  );
});
