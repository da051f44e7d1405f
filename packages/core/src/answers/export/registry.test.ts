import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Profile } from '../../profile/tables/index.ts';
import { bigProfile } from '../../test/example-profile.ts';
import { EXPORTS, findExport } from './registry.ts';

test('formats are found by name and by the longest extension of a file', () => {
  for (const format of EXPORTS) {
    assert.equal(findExport(format.name), format);
    assert.equal(findExport(`/tmp/out.${format.extension}`), format);
  }
  assert.equal(findExport('out.txt'), undefined);
  assert.equal(findExport('xsvg'), undefined);
});

const random = bigProfile(20_000, 10_000);
const merged = bigProfile(100, 20);
merged.samples.timeNs.data.fill(Number.NaN);
merged.samples.count.data[0] = 50;

for (const { name, write } of EXPORTS) {
  test(`${name}: a profile of nothing is still a file`, async () => {
    let size = 0;
    for await (const chunk of write(new Profile())) size += chunk.length;
    assert.ok(name === 'folded' ? size === 0 : size > 0);
  });

  test(`${name}: large output comes in chunks of moderate size, the same each time`, async () => {
    const sizes: number[][] = [];
    for (let run = 0; run < 2; run++) {
      const own: number[] = [];
      for await (const chunk of write(random)) own.push(chunk.length);
      sizes.push(own);
    }
    assert.deepEqual(sizes[0], sizes[1]);
    assert.ok(Math.max(...sizes[0]!) < 600_000, `${Math.max(...sizes[0]!)} bytes in one chunk`);
  });

  test(`${name}: rows without times, merged, are the same weight`, async () => {
    let size = 0;
    for await (const chunk of write(merged, {
      durationNs: 5e9,
      compress: async (bytes) => gzipSync(bytes),
    })) {
      size += chunk.length;
    }
    assert.ok(size > 0);
  });
}
