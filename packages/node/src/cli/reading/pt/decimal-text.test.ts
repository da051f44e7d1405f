import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DecimalText, lastThreeDigits } from './decimal-text.ts';

test('the same text as String, whatever came before', () => {
  const text = new DecimalText();
  const edges = [0, 999_999, 1e6, 1_000_001, 1_999_999, 2e6, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];
  for (const value of [...edges, -1, Number.NaN, 2 ** 60, ...edges.reverse()])
    assert.equal(text.of(value), String(value));
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.nat(2_000_000), (value, more) => {
      assert.equal(text.of(value), String(value));
      const next = Math.min(Number.MAX_SAFE_INTEGER, value + more);
      assert.equal(text.of(next), String(next));
      assert.equal(lastThreeDigits(value), String(value).padStart(3, '0').slice(-3));
    }),
  );
});
