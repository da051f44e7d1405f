import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteWriter } from './byte-writer.ts';

const decoder = new TextDecoder();

function written(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter();
  write(out);
  return decoder.decode(out.take());
}

test('integers have the digits that String gives', () => {
  for (const value of [0, 1, 9, 10, 99, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, -1, -(2 ** 40)]) {
    assert.equal(
      written((out) => out.integer(value)),
      String(value),
    );
  }
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      assert.equal(
        written((out) => out.integer(value)),
        String(value),
      );
    }),
  );
});

test('what is no safe integer still comes out as a number', () => {
  assert.equal(
    written((out) => out.integer(2.5)),
    '3',
  );
  assert.equal(
    written((out) => out.integer(-0.4)),
    '0',
  );
  assert.equal(
    written((out) => out.integer(2 ** 70)),
    (2n ** 70n).toString(),
  );
  assert.equal(
    written((out) => out.integer(Number.NaN)),
    '0',
  );
  assert.equal(
    written((out) => out.integer(Number.POSITIVE_INFINITY)),
    '0',
  );
});

test('millionths are exact and short', () => {
  assert.equal(
    written((out) => out.millionths(0)),
    '0',
  );
  assert.equal(
    written((out) => out.millionths(250_000)),
    '0.25',
  );
  assert.equal(
    written((out) => out.millionths(-1)),
    '-0.000001',
  );
  assert.equal(
    written((out) => out.millionths(3_000_000)),
    '3',
  );
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      const text = written((out) => out.millionths(value));
      const [whole = '', fraction = ''] = text.replace('-', '').split('.');
      assert.equal(BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0')), BigInt(Math.abs(value)));
      assert.doesNotMatch(fraction, /0$/);
    }),
  );
});

test('texts longer than the buffer grow it, and take hands out everything once', () => {
  const out = new ByteWriter();
  const long = '漢'.repeat(300_000);
  out.text('a');
  out.text(long);
  out.byte(0x62);
  assert.ok(out.isFull);
  assert.equal(decoder.decode(out.take()), `a${long}b`);
  assert.equal(out.take().length, 0);
});

test('chunks belong to the taker', () => {
  const out = new ByteWriter();
  out.text('first');
  const chunk = out.take();
  out.text('SECOND');
  assert.equal(decoder.decode(chunk), 'first');
});
