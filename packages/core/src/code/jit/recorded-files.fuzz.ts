import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../../base/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import { decodeRecordedFiles, encodeRecordedFiles } from './index.ts';

test('damaged sections of recorded files: nothing thrown but FormatError, no more than the bytes can hold', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  await fuzz(
    'recorded-files',
    (random) => {
      const files = Array.from({ length: random.below(5) }, (_, pid) => {
        const packed = new Uint8Array(random.below(40)).fill(pid);
        return { kind: 1, pid, sizeBytes: random.below(packed.length * 100 + 1), packed };
      });
      const whole = encodeRecordedFiles(files, random.oneIn(2));
      for (let flips = random.below(6); flips > 0; flips--)
        whole[random.below(whole.length)] = random.pick([0, 1, 0x7f, 0xff, random.below(256)]);
      input = random.oneIn(2) ? whole : whole.slice(0, random.below(whole.length + 1));
      try {
        const read = decodeRecordedFiles(input, random.oneIn(2));
        assert.ok(read.length <= input.length / 24);
        assert.ok(read.every(({ sizeBytes, packed }) => sizeBytes <= 1040 * packed.length));
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error));
      }
    },
    () => input,
  );
});
