import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatSeconds,
  hiOf,
  loOf,
  printable,
  printableJson,
  StringTable,
  splitNs,
  TripleTable,
  toBigInt,
  toDecimal,
  toHex,
  toSignedFloat,
} from './index.ts';

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

test('halves of 64-bit values print as the whole does', () => {
  fc.assert(
    fc.property(u64, (value) => {
      const lo = loOf(value);
      const hi = hiOf(value);
      assert.equal(toBigInt(lo, hi), value);
      assert.equal(toHex(lo, hi), value.toString(16));
      assert.equal(toDecimal(lo, hi), value.toString());
    }),
  );
});

test('nanoseconds split exactly, also beyond 2^53', () => {
  fc.assert(
    fc.property(u64, (value) => {
      const { seconds, nanoseconds } = splitNs(loOf(value), hiOf(value));
      assert.equal(BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds), value);
    }),
  );
  const realtime = 1_795_247_591_123_456_789n;
  assert.equal(formatSeconds(loOf(realtime), hiOf(realtime), 9), '1795247591.123456789');
  assert.equal(formatSeconds(loOf(realtime), hiOf(realtime), 6), '1795247591.123456');
});

test('kernel and user addresses are exact as signed float64', () => {
  for (const address of [0x7f12_3456_789an, 0xffff_ffff_8100_0001n, 0xffff_8880_0000_0fffn, 0x40_0000n]) {
    assert.equal(toSignedFloat(loOf(address), hiOf(address)), Number(BigInt.asIntN(64, address)));
  }
});

test('a triple table gives each triple one row, in order', () => {
  const triples = fc.tuple(fc.integer(), fc.integer({ min: -2, max: 2 }), fc.integer({ min: 0, max: 3 }));
  fc.assert(
    fc.property(fc.array(triples, { maxLength: 400 }), (list) => {
      const table = new TripleTable(4);
      const rows = new Map<string, number>();
      for (const [a, b, c] of list) {
        const known = rows.get(`${a},${b},${c}`);
        assert.equal(table.lookUp(a, b, c), known ?? -1);
        const found = table.find(a, b, c);
        assert.equal(found, known ?? -1 - rows.size);
        if (known === undefined) rows.set(`${a},${b},${c}`, rows.size);
      }
      assert.equal(table.length, rows.size);
    }),
  );
});

test('strings are interned once; the empty string is 0', () => {
  const table = new StringTable();
  assert.equal(table.intern(''), 0);
  const first = table.intern('main');
  assert.equal(table.intern('main'), first);
  assert.equal(table.get(first), 'main');
  assert.equal(table.find('other'), -1);
});

test('names of hostile programs cannot command a terminal', () => {
  assert.equal(printable('plain name<T>'), 'plain name<T>');
  assert.equal(printable('a\u001b[31mred\u0007\u009b'), 'a\\x1b[31mred\\x07\\x9b');
  assert.equal(printable('evil\u202eexe.txt\u2066'), 'evil\\u202eexe.txt\\u2066');
  assert.equal(printable('日本語 ñ 😀'), '日本語 ñ 😀');
  const value = { 'a\u009b': ['\u001b', '\u007f\u202e', 'x\ny', '日本'] };
  for (const indent of [undefined, 2]) {
    const json = printableJson(value, indent);
    assert.deepEqual(JSON.parse(json), value);
    assert.doesNotMatch(json, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});
