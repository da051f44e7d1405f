/**
 * Damaged kallsyms, perf maps, XZ data and ELF files: nothing but a diagnostic comes
 * of them, and lookups stay sane.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { Random } from '../../test/random.ts';
import { tinyElf } from '../../test/tiny-elf.ts';
import { PT_LOAD } from '../elf/index.ts';
import { type CodeBinary, loadCodeSymbols } from './index.ts';

const seconds = Number(process.env.FUZZ_SECONDS ?? 1);
const seed = process.env.FUZZ_SECONDS === undefined ? 1 : Date.now() | 1;

const KALLSYMS = Array.from({ length: 40 }, (_, line) => {
  const address = (0xffffffff81000000n + BigInt(line * 48)).toString(16);
  return `${address} ${'TtWwDdBbAr'[line % 10]} symbol_${line}${line > 20 ? `\t[module_${line % 3}]` : ''}\n`;
}).join('');

const PERF_MAP = Array.from({ length: 40 }, (_, line) => {
  return `${(0x7f00_0000_0000 + (line % 13) * 40).toString(16)} ${(line * 3).toString(16)} name ${line}\n`;
}).join('');

function elfWithDebugData(): Uint8Array<ArrayBuffer> {
  const text = { name: '.text', type: 1, bytes: new Uint8Array(64), address: 0x1000 };
  const inner = tinyElf({ sections: [text], symbols: [{ name: 'inner', value: 0x1000, size: 16 }] });
  const packed = spawnSync('xz', ['-c'], { input: inner }).stdout ?? new Uint8Array(64);
  return tinyElf({
    sections: [text, { name: '.gnu_debugdata', type: 1, bytes: packed }],
    segments: [{ type: PT_LOAD, offset: 0, address: 0x1000, fileSize: 0x1000 }],
    dynamicSymbols: [
      { name: '_ZN1a1bEv', value: 0x1010, size: 16 },
      { name: 'c', value: 0x1010, size: 16 },
      { name: 'd', value: 0x1018 },
    ],
  });
}

const encoder = new TextEncoder();
const CASES: { key: string; bytes: Uint8Array<ArrayBuffer>; binary: CodeBinary }[] = [
  {
    key: 'kallsyms [kernel.kallsyms]',
    bytes: encoder.encode(KALLSYMS),
    binary: { path: '[kernel.kallsyms]', buildId: '', kind: 'kernel', pid: -1 },
  },
  {
    key: 'perf-map /tmp/perf-1.map',
    bytes: encoder.encode(PERF_MAP),
    binary: { path: '/tmp/perf-1.map', buildId: '', kind: 'jit', pid: 1 },
  },
  {
    key: 'binary /app',
    bytes: elfWithDebugData(),
    binary: { path: '/app', buildId: '', kind: 'user', pid: 1 },
  },
];

for (const { key, bytes, binary } of CASES) {
  test(`damage in ${key}`, async () => {
    const random = new Random(seed);
    const end = performance.now() + (seconds * 1000) / CASES.length;
    do {
      const mutated = mutate(random, bytes);
      const driver = new MemoryDriver();
      driver.files.set(key, mutated);
      const table = await loadCodeSymbols(binary, driver, []);
      assert.equal(driver.openFiles, 0);
      if (table === null) continue;
      for (let symbol = 0; symbol < table.length; symbol++) {
        assert.ok(table.name(symbol).length <= 1 << 16);
        const found = table.lookup(table.start(symbol));
        // Whatever is found there covers the address.
        if (found !== -1)
          assert.ok(
            table.start(found) <= table.start(symbol) && table.start(symbol) < table.end(found),
            `seed ${seed}`,
          );
      }
      // Wall time: a fuzzer runs for so long.
    } while (performance.now() < end);
  });
}

/** Some bytes changed, a piece cut out, or a piece repeated. */
function mutate(random: Random, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let result = bytes.slice();
  for (let count = random.below(5); count >= 0 && result.length > 0; count--) {
    const at = random.below(result.length);
    const to = Math.min(result.length, at + random.below(64));
    switch (random.below(4)) {
      case 0:
        result = new Uint8Array([...result.subarray(0, at), ...result.subarray(to)]);
        break;
      case 1:
        result = new Uint8Array([...result.subarray(0, to), ...result.subarray(at)]);
        break;
      default:
        result[at] = random.pick([0, 10, 32, 48, 0x7f, 0xff, random.below(256)]);
    }
  }
  return result;
}
