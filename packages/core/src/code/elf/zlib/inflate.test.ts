/** Against zlib itself: every kind of block, and damage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, deflateSync, inflateSync, type ZlibOptions } from 'node:zlib';
import { FormatError } from '../../../base/index.ts';
import { Random } from '../../../test/random.ts';
import { inflateZlib } from './inflate.ts';

const random = new Random(1951);
/** Words from few letters: repeats near and far, and now and then noise. */
const TEXT: Uint8Array<ArrayBuffer> = Uint8Array.from({ length: 70_000 }, (_, at) =>
  at % 5000 < 300 ? random.below(256) : 97 + (random.below(3) ^ ((at >> 3) & 7)),
);
const packed = (bytes: Uint8Array, options: ZlibOptions = {}) => new Uint8Array(deflateSync(bytes, options));
const PACKED: [string, Uint8Array<ArrayBuffer>][] = [
  ['stored', packed(TEXT, { level: 0 })],
  ['fixed codes', packed(TEXT, { strategy: constants.Z_FIXED })],
  ['codes of its own', packed(TEXT, { level: 9 })],
  ['no repeats', packed(TEXT, { strategy: constants.Z_HUFFMAN_ONLY })],
];

for (const [name, bytes] of PACKED)
  test(`${name}: what was packed`, async () => {
    assert.deepEqual(await inflateZlib(bytes, TEXT.length), TEXT);
    await assert.rejects(inflateZlib(bytes, TEXT.length - 1), FormatError);
    await assert.rejects(inflateZlib(bytes, TEXT.length + 1), FormatError);
  });

test('nothing at all', async () => {
  assert.deepEqual(await inflateZlib(packed(new Uint8Array(0)), 0), new Uint8Array(0));
  await assert.rejects(inflateZlib(new Uint8Array(0), 0), /zlib stream/);
});

test('damage is noticed where zlib itself notices it, and cuts are', async () => {
  const [, whole] = PACKED[2]!;
  let noticed = 0;
  for (let round = 0; round < 300; round++) {
    const damaged = new Uint8Array(whole);
    damaged[2 + random.below(whole.length - 2)]! ^= 1 << random.below(8);
    let ours: Uint8Array<ArrayBuffer> | null = null;
    try {
      ours = await inflateZlib(damaged, TEXT.length);
    } catch (error) {
      assert.ok(error instanceof FormatError);
      noticed++;
    }
    // The checksum is a weak one.
    if (ours !== null) assert.deepEqual(ours, new Uint8Array(inflateSync(damaged)));
    const cut = whole.subarray(0, random.below(whole.length));
    await assert.rejects(inflateZlib(cut, TEXT.length), FormatError);
  }
  assert.ok(noticed > 280);
});

test('a small stream that says it is small and is not costs what it says', async () => {
  const bomb = packed(new Uint8Array(256 << 20));
  const before = process.memoryUsage.rss();
  await assert.rejects(inflateZlib(bomb, 1000), /more/);
  assert.ok(process.memoryUsage.rss() - before < 100 << 20);
});
