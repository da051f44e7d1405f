import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { FormatError } from '../../../base/index.ts';
import { Random } from '../../../test/random.ts';
import { decompressXz } from '../index.ts';
import { crc64 } from './crc64.ts';

const LIMIT = 1 << 24;
const noXz = spawnSync('xz', ['--version']).status === 0 ? false : 'xz is not installed';

/** `printf 'hello, hello, hello: a small XZ file\n' | xz -9 --check=crc32 | base64` */
const SMALL =
  '/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AAkAB9dADQZSe6N74yHMhCaKJnj7P6znNSSTXGHZD7YREhIwgAAAG4vjjIAATclWMGF+5BCmQ0BAAAAAAFZWg==';

test('a small file decompresses', () => {
  const bytes = new Uint8Array(Buffer.from(SMALL, 'base64'));
  assert.equal(Buffer.from(decompressXz(bytes, LIMIT)).toString(), 'hello, hello, hello: a small XZ file\n');
});

test('CRC-64 of the check value', () => {
  const { lo, hi } = crc64(new TextEncoder().encode('123456789'));
  assert.deepEqual([hi, lo], [0x995d_c9bb, 0xdf19_39fa]);
});

/** Text, runs, noise, and noise repeated from far away: literals, short and long matches, stored chunks. */
function sampleBytes(): Uint8Array<ArrayBuffer> {
  const random = new Random(7);
  const parts: Uint8Array[] = [new Uint8Array(20_000), random.bytes(70_000)];
  const words = ['alpha', 'beta', 'gamma', 'delta', ' ', '\n'];
  let text = '';
  while (text.length < 40_000) text += random.pick(words);
  parts.push(new TextEncoder().encode(text), parts[1]!, random.bytes(3));
  return new Uint8Array(Buffer.concat(parts));
}

for (const args of [
  ['-6'],
  ['-0', '--check=crc32'],
  ['-9e', '--check=sha256'],
  ['--check=none', '--lzma2=preset=6,lc=0,lp=4,pb=0'],
  ['--lzma2=preset=6,lc=4,lp=0,pb=4'],
  ['-T2', '--block-size=65536'],
]) {
  test(`xz ${args.join(' ')} decompresses to what went in`, { skip: noXz }, () => {
    for (const bytes of [sampleBytes(), new Uint8Array(0), Uint8Array.of(65)]) {
      const packed = spawnSync('xz', ['-c', ...args], { input: bytes, maxBuffer: LIMIT }).stdout;
      assert.ok(Buffer.from(decompressXz(new Uint8Array(packed), LIMIT)).equals(bytes));
    }
  });
}

test('a filter that is not LZMA2 is refused by name', { skip: noXz }, () => {
  const packed = spawnSync('xz', ['-c', '--x86', '--lzma2'], { input: sampleBytes() }).stdout;
  assert.throws(() => decompressXz(new Uint8Array(packed), LIMIT), { code: 'ERR_XZ_FILTER' });
});

test('output beyond the limit is refused before it is made', { skip: noXz }, () => {
  const packed = spawnSync('xz', ['-c'], { input: new Uint8Array(1 << 22) }).stdout;
  assert.ok(packed.length < 2000);
  assert.throws(() => decompressXz(new Uint8Array(packed), 1 << 20), { code: 'ERR_XZ_TOO_LARGE' });
});

test('every change of a bit is noticed', () => {
  const bytes = new Uint8Array(Buffer.from(SMALL, 'base64'));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3]! ^= 1 << (bit & 7);
    // The size of the dictionary (after filter id and size of properties) does not matter to
    // us but is under a checksum.
    assert.throws(() => decompressXz(changed, LIMIT), FormatError, `bit ${bit}`);
  }
});

test('fuzz: damage and cuts give a FormatError', { skip: noXz }, () => {
  const random = new Random(3);
  const source = sampleBytes().subarray(15_000, 100_000);
  const packed = new Uint8Array(spawnSync('xz', ['-c', '--check=none'], { input: source }).stdout);
  for (let round = 0; round < 100; round++) {
    const changed = packed.slice(0, random.oneIn(4) ? random.below(packed.length) : packed.length);
    for (let change = random.below(3); change >= 0 && changed.length > 0; change--)
      changed[random.oneIn(3) ? random.below(Math.min(64, changed.length)) : random.below(changed.length)] =
        random.below(256);
    try {
      // Without a check, a change in the data may pass as other data.
      assert.ok(decompressXz(changed, LIMIT).length <= LIMIT);
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
    }
  }
});
