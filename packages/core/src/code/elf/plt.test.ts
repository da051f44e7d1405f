import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { TemporaryFolder } from '../../test/perf.ts';
import { tinyElf } from '../../test/tiny-elf.ts';
import { openElf, readPlt } from './index.ts';

/** A compiler and its objdump. The cross compiler is Debian's gcc-aarch64-linux-gnu. */
const TOOLS = {
  x86:
    process.arch === 'x64'
      ? { gcc: 'gcc', objdump: 'objdump' }
      : { gcc: 'x86_64-linux-gnu-gcc', objdump: 'x86_64-linux-gnu-objdump' },
  arm64: { gcc: 'aarch64-linux-gnu-gcc', objdump: 'aarch64-linux-gnu-objdump' },
};

const PROGRAM = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int one(int x) { return x + 1; }
static int (*pick(void))(int) { return one; }
int indirect(int) __attribute__((ifunc("pick")));
int main(int argc, char **argv) {
  void (*taken)(void *) = free;
  puts(argv[0]);
  taken(malloc(strlen(argv[0]) + indirect(argc)));
  free(malloc(1));
  return 0;
}
`;

for (const [machine, ...flags] of [
  ['x86', '-fcf-protection=none', '-Wl,-z,lazy'],
  ['x86', '-fcf-protection=none', '-Wl,-z,now'],
  ['x86', '-fcf-protection=full', '-Wl,-z,lazy', '-Wl,-z,ibtplt'],
  ['x86', '-fcf-protection=full', '-Wl,-z,now', '-Wl,-z,ibtplt'],
  ['x86', '-no-pie', '-fcf-protection=none', '-Wl,-z,lazy'],
  ['arm64', '-Wl,-z,lazy'],
  ['arm64', '-mbranch-protection=standard', '-Wl,-z,now', '-Wl,-z,force-bti'],
  ['arm64', '-no-pie', '-Wl,-z,pac-plt'],
] as const) {
  const { gcc, objdump } = TOOLS[machine];
  const missing = [gcc, objdump].find((tool) => spawnSync(tool, ['--version']).status !== 0);
  const skip = missing === undefined ? false : `${missing} is not installed`;
  test(`stubs made by ${gcc} ${flags.join(' ')} are those objdump names`, { skip }, async () => {
    const folder = new TemporaryFolder();
    try {
      const source = folder.file('main.c', new TextEncoder().encode(PROGRAM));
      const path = `${folder.path}/main`;
      const built = spawnSync(gcc, ['-O0', ...flags, source, '-o', path], { encoding: 'utf8' });
      assert.equal(built.status, 0, built.stderr);
      const elf = await openElf(memorySource(new Uint8Array(readFileSync(path))));
      const ours = new Map((await readPlt(elf)).map((entry) => [entry.address, entry]));
      const { stdout } = spawnSync(objdump, ['-d', path], { encoding: 'utf8' });
      const names = [...stdout.matchAll(/^([0-9a-f]+) <(.*)@plt>:$/gm)];
      assert.ok(names.length >= 4, stdout);
      for (const [, address, name] of names) {
        const entry = ours.get(Number.parseInt(address!, 16));
        const resolver = /^\*ABS\*\+0x([0-9a-f]+)$/.exec(name!);
        if (resolver === null) assert.equal(entry?.name, name);
        else assert.equal(entry?.resolver, Number.parseInt(resolver[1]!, 16));
        assert.ok([8, 16, 24].includes(entry!.size));
      }
    } finally {
      folder.remove();
    }
  });
}

test('arm64 stubs, plain and with bti, lead through the slot they load', async () => {
  const PLT = 0x1_0300;
  const GOT = 0x2_0fa8;
  const words = [
    // The header: stp x16, x30, [sp, #-16]!; adrp x16, GOT page; ldr x17, [x16, #0xfa0]; add; br x17; nops.
    // Its slot is no function's.
    ...[
      0xa9bf7bf0,
      adrp(PLT + 4, GOT),
      load(0xfa0),
      0x913e8210,
      0xd61f0220,
      0xd503201f,
      0xd503201f,
      0xd503201f,
    ],
    ...[adrp(PLT + 32, GOT), load(0xfa8), 0x913ea210, 0xd61f0220],
    ...[0xd503245f, adrp(PLT + 52, GOT), load(0xfb0), 0x913ec210, 0xd61f0220, 0xd503201f],
    ...[0xd503245f, adrp(PLT + 76, GOT), load(0xfb8), 0x913ee210, 0xd61f0220, 0xd503201f],
  ];
  const plt = new Uint8Array(Uint32Array.from(words).buffer);
  const relocation = (slot: number, symbol: number, type: number, addend: number) =>
    new Uint8Array(
      BigUint64Array.of(BigInt(slot), (BigInt(symbol) << 32n) | BigInt(type), BigInt(addend)).buffer,
    );
  const elf = await openElf(
    memorySource(
      tinyElf({
        machine: 183,
        sections: [
          { name: '.plt', type: 1, bytes: plt, address: PLT, entrySize: 0 },
          {
            name: '.rela.plt',
            type: 4,
            link: '.dynsym',
            bytes: new Uint8Array([
              ...relocation(GOT + 8, 2, 1026, 0),
              ...relocation(GOT, 1, 1026, 0),
              ...relocation(GOT + 16, 0, 1032, 0x4567),
            ]),
          },
        ],
        dynamicSymbols: [
          { name: 'first', value: 0, section: 0 },
          { name: 'second', value: 0, section: 0 },
        ],
      }),
    ),
  );
  assert.deepEqual(await readPlt(elf), [
    { address: PLT + 32, size: 16, name: 'first', resolver: 0 },
    { address: PLT + 48, size: 24, name: 'second', resolver: 0 },
    { address: PLT + 72, size: 24, name: '', resolver: 0x4567 },
  ]);
});

/** adrp x16, page of `target`, at address `at`. */
function adrp(at: number, target: number): number {
  const pages = (target >>> 12) - (at >>> 12);
  return (0x9000_0010 | ((pages & 3) << 29) | (((pages >> 2) & 0x7_ffff) << 5)) >>> 0;
}

/** ldr x17, [x16, #offset] */
function load(offset: number): number {
  return (0xf940_0211 | ((offset / 8) << 10)) >>> 0;
}
