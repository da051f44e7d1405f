import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { LineBytes, textBytes } from './line-bytes.ts';

test('columns are what padStart makes of them, however wide their values are', () => {
  const number = fc.oneof(fc.nat(), fc.nat({ max: 9999 }), fc.maxSafeNat());
  fc.assert(
    fc.property(fc.array(fc.tuple(number, fc.integer({ min: 5, max: 20 })), { maxLength: 40 }), (cells) => {
      let written = '';
      const lines = new LineBytes((bytes) => {
        written += new TextDecoder().decode(bytes);
      }, false);
      let expected = '';
      for (const [value, width] of cells) {
        lines.number(value, width);
        lines.thousandths(value, width);
        lines.text(`v${value}`, width);
        lines.bytes(textBytes('é '));
        lines.spaces(3);
        lines.endLine();
        const point = `${Math.floor(value / 1000)}.${String(value % 1000).padStart(3, '0')}`;
        expected += `${String(value).padStart(width)}${point.padStart(width)}${`v${value}`.padStart(width)}é    \n`;
      }
      lines.flush();
      assert.equal(written, expected);
    }),
  );
});

test('pieces are written when they are large, or at each line where somebody reads along', () => {
  const countOf = (isEachLineWritten: boolean) => {
    let [pieces, bytes] = [0, 0];
    const lines = new LineBytes((piece) => {
      pieces++;
      bytes += piece.length;
    }, isEachLineWritten);
    for (let line = 0; line < 5000; line++) {
      lines.text('x', 99);
      lines.endLine();
    }
    lines.text('y'.repeat(300_000), 0);
    lines.flush();
    assert.equal(bytes, 800_000);
    return pieces;
  };
  assert.equal(countOf(true), 5001);
  assert.ok(countOf(false) < 10);
});
