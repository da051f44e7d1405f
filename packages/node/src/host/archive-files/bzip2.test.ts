/** The oracle is bzip2 itself. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { bunzip2, isBzip2 } from './bzip2.ts';

const skip = spawnSync('bzip2', ['--version']).error === undefined ? false : 'bzip2 is not installed';

describe('bunzip2', { skip }, () => {
  const compressed = (content: Uint8Array, level = 9) =>
    execFileSync('bzip2', [`-${level}`, '-c'], { input: content, maxBuffer: 1 << 28 });
  const content = (bytes: Uint8Array) => Buffer.concat(Array.from(bunzip2(bytes), (block) => block.slice()));

  const CASES: Record<string, Uint8Array> = {
    nothing: new Uint8Array(),
    'one byte': Uint8Array.of(7),
    'all bytes': Uint8Array.from({ length: 256 }, (_, byte) => byte),
    'a run of 3, 4, 5, 255, 259 and 1000': Buffer.concat(
      [3, 4, 5, 255, 259, 1000].map((count, place) => Buffer.alloc(count, place)),
    ),
    noise: randomBytes(300_000),
    'a run across blocks': Buffer.alloc(2_000_000, 0x61),
    program: readFileSync(process.execPath).subarray(0, 1_500_000),
    text: Buffer.from('the quick brown fox '.repeat(20_000)),
  };
  for (const [name, bytes] of Object.entries(CASES))
    for (const level of [1, 9])
      test(`${name}, level ${level}`, () => {
        const packed = compressed(bytes, level);
        assert.ok(isBzip2(packed));
        assert.ok(content(packed).equals(bytes));
      });

  test('two streams one after the other, as pbzip2 makes them', () => {
    const [first, second] = [Buffer.from('first'), Buffer.from('second')];
    const both = Buffer.concat([compressed(first), compressed(second)]);
    assert.ok(content(both).equals(Buffer.concat([first, second])));
  });

  test('every changed bit is found, and every cut', () => {
    const packed = compressed(Buffer.from('the quick brown fox '.repeat(100)));
    const whole = content(packed);
    for (let bit = 0; bit < packed.length * 8; bit++) {
      const changed = Buffer.from(packed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      try {
        // Bits of the last checksum, which is of those of the blocks, and those behind the end say nothing.
        assert.ok(content(changed).equals(whole), `bit ${bit}`);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'ERR_ARCHIVE', String(error));
      }
    }
    for (let length = 4; length < packed.length - 1; length++)
      assert.throws(() => content(packed.subarray(0, length)), { code: 'ERR_ARCHIVE' });
  });
});
