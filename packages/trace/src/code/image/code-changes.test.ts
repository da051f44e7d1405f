import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodeImage, granuleOf } from './index.ts';

function imageOf(...changes: [address: bigint, bytes: number, from?: number, to?: number][]): CodeImage {
  const image = new CodeImage();
  for (const [address, bytes, from, to] of changes)
    image.addSection({
      name: 'code',
      address,
      bytes: new Uint8Array(bytes),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    });
  return image;
}

test('epochs lie between the times at which code changes', () => {
  const changes = imageOf([0x1000n, 64], [0x2000n, 64, 10, 30], [0x3000n, 64, 20]).changes();
  assert.deepEqual(
    [-5, 9.5, 10, 19, 20, 30, 1e300].map((time) => changes.epochOf(time)),
    [0, 0, 1, 1, 2, 3, 3],
  );
  assert.deepEqual([changes.startOf(0), changes.endOf(0)], [Number.NEGATIVE_INFINITY, 10]);
  assert.deepEqual([changes.startOf(3), changes.endOf(3)], [30, Number.POSITIVE_INFINITY]);
});

test('a change touches the code at its addresses, whichever way time goes', () => {
  const changes = imageOf([0x2000n, 64, 10, 30], [0xffff_ffff_8100_0000n, 64, 20]).changes();
  const low = new Set([granuleOf(0x203f, 0)]);
  assert.deepEqual(
    [changes.touch(low, 0, 1), changes.touch(low, 1, 2), changes.touch(low, 3, 2), changes.touch(low, 2, 2)],
    [true, false, true, false],
  );
  assert.equal(changes.touch(new Set([granuleOf(0x2040, 0)]), 0, 3), false);
  assert.equal(changes.touch(new Set([granuleOf(0x8100_0010 | 0, -1)]), 0, 3), true);
});

test('addresses that no processor has, and all of memory: no endless counting', () => {
  const image = new CodeImage();
  image.addHole({ name: 'all', address: 0n, sizeBytes: 1n << 64n, from: 1 });
  image.addSection({ name: 'far', address: 0x7fff_ffff_ffff_0000n, bytes: new Uint8Array(4096), from: 2 });
  const changes = image.changes();
  const granules = new Set(Array.from({ length: 1000 }, (_, at) => at));
  assert.deepEqual([changes.touch(granules, 0, 1), changes.touch(granules, 1, 2)], [true, false]);
  assert.equal(changes.touch(new Set([granuleOf(0xffff_0010 | 0, 0x7fff_ffff)]), 1, 2), true);
});
