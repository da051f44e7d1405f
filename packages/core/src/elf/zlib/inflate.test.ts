/** Against zlib itself: every kind of block, and damage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, deflateSync, inflateSync } from 'node:zlib';
import { FormatError } from '../../base/index.ts';
import { Random } from '../../test/random.ts';
import { inflateZlib } from './inflate.ts';

const random = new Random(1951);
/** Words from few letters: repeats near and far, and now and then noise. */
const TEXT: Uint8Array = Uint8Array.from({ length: 70_000 }, (_, at) =>
  at % 5000 < 300 ? random.below(256) : 97 + (random.below(3) ^ ((at >> 3) & 7)),
);
const PACKED: [string, Uint8Array][] = [
  ['stored', deflateSync(TEXT, { level: 0 })],
  ['fixed codes', deflateSync(TEXT, { strategy: constants.Z_FIXED })],
  ['codes of its own', deflateSync(TEXT, { level: 9 })],
  ['no repeats', deflateSync(TEXT, { strategy: constants.Z_HUFFMAN_ONLY })],
];

for (const [name, packed] of PACKED)
  test(`${name}: what was packed`, () => {
    assert.deepEqual(inflateZlib(packed, TEXT.length), new Uint8Array(TEXT));
    assert.throws(() => inflateZlib(packed, TEXT.length - 1), FormatError);
    assert.throws(() => inflateZlib(packed, TEXT.length + 1), FormatError);
  });

test('nothing at all', () => {
  assert.deepEqual(inflateZlib(deflateSync(new Uint8Array(0)), 0), new Uint8Array(0));
  assert.throws(() => inflateZlib(new Uint8Array(0), 0), /zlib stream/);
});

test('damage is noticed where zlib itself notices it, and cuts are', () => {
  const [, packed] = PACKED[2]!;
  let noticed = 0;
  for (let round = 0; round < 300; round++) {
    const damaged = new Uint8Array(packed);
    damaged[2 + random.below(packed.length - 2)]! ^= 1 << random.below(8);
    let ours: Uint8Array | null = null;
    try {
      ours = inflateZlib(damaged, TEXT.length);
    } catch (error) {
      assert.ok(error instanceof FormatError);
      noticed++;
    }
    // The checksum is a weak one.
    if (ours !== null) assert.deepEqual(ours, new Uint8Array(inflateSync(damaged)));
    const cut = packed.subarray(0, random.below(packed.length));
    assert.throws(() => inflateZlib(cut, TEXT.length), FormatError);
  }
  assert.ok(noticed > 280);
});
