import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { fuzz } from '../../../../core/src/test/fuzz.ts';
import { mutate } from '../../../../core/src/test/mutate.ts';
import { bunzip2 } from './bzip2.ts';

/** `bzip2 -9` of "the quick brown fox " and runs of bytes. */
const PACKED = Buffer.from(
  'QlpoOTFBWSZTWY0ONFcAALBTgMAAQAABABtptsAACCAAcFMmJkGRgUqp6gB6R6nqbYxG/ZMk8k50dOpMkyTBNE/E4JsmyaJ2JonKjWybE4fxdyRThQkI0ONFcA==',
  'base64',
);
const MOST_BYTES = 1 << 26;

test('damaged bzip2: the content or an error with a code', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array();
  const cases = await fuzz(
    'bzip2',
    async (random) => {
      input = mutate(new Uint8Array(PACKED), random);
      try {
        let size = 0;
        for (const block of bunzip2(input)) size += block.length;
        assert.ok(size < MOST_BYTES);
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
      }
    },
    () => input,
  );
  assert.ok(cases === null || cases > 5, `only ${cases} cases`);
});
