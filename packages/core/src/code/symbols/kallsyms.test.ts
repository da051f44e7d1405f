import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Kallsyms,
  kallsymsAddress,
  kallsymsName,
  kernelCodeSymbols,
  parseKallsyms,
  parseModules,
} from './index.ts';

const parse = (text: string): Kallsyms => parseKallsyms(new TextEncoder().encode(text));

const TEXT = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t do_one_initcall.cold
ffffffff81000100 W weak_one
ffffffff81000100 T strong_one
ffffffff81000200 T __the_same_but_longer
ffffffff81000200 T the_same
ffffffff81000300 r a_constant
ffffffff81000400 d some_data
ffffffff81000500 T _etext
ffffffffc0200100 t ext4_second	[ext4]
ffffffffc0200000 t ext4_first	[ext4]
ffffffffc0200200 t $x	[ext4]
ffffffffc0300000 t snd_first	[snd_hda]
ffffffffc0400000 t bpf_prog_6deef7357e7b4530_sd_fw	[bpf]
`;

test('addresses, types, names and modules', () => {
  const table = parse(TEXT);
  assert.equal(table.count, 16);
  assert.equal(table.damage.total, 0);
  assert.equal(table.isRestricted, false);
  assert.deepEqual(table.modules, ['', 'ext4', 'snd_hda', 'bpf']);
  assert.equal(kallsymsName(table, 11), 'ext4_second');
  assert.equal(table.address[11], -0x3fdf_ff00);
  assert.equal(String.fromCharCode(table.type[8]!), 'r');
  assert.equal(kallsymsAddress(table, '_text'), -0x7f00_0000);
  assert.ok(Number.isNaN(kallsymsAddress(table, 'ext4_first')));
  assert.ok(Number.isNaN(kallsymsAddress(table, '_tex')));
});

test('functions of 32-bit kernels are below 2^32', () => {
  assert.equal(parse('c0008000 T _text\n').address[0], 0xc000_8000);
});

test('a table of zeros is a kernel that does not show its addresses', () => {
  assert.equal(parse('0000000000000000 T _text\n0000000000000000 t f\t[m]\n').isRestricted, true);
  assert.equal(parse('').isRestricted, false);
});

test('damaged lines are counted and skipped', () => {
  const table = parse(
    'ffffffff81000000 T _text\nnonsense\n\nffffffff81000010 T\nffffffff81000020 T good\n123',
  );
  assert.equal(table.count, 2);
  assert.equal(kallsymsName(table, 1), 'good');
  assert.equal(table.damage.count('kallsyms-line'), 4);
});

test('more lines than the size lets expect', () => {
  assert.equal(parse('1 T a\n'.repeat(10_000)).count, 10_000);
});

test('the kernel and its modules as one table, with one of several names and gaps between modules', () => {
  const table = kernelCodeSymbols(parse(TEXT), { module: null, shift: 0 });
  const nameAt = (address: number) => {
    const symbol = table.lookup(address);
    return symbol === -1 ? null : `${table.name(symbol)}+${address - table.start(symbol)}`;
  };
  // Of names at one address perf keeps the last: the others reach only to it.
  assert.equal(nameAt(-0x7f00_0000 + 1), '_text+1');
  assert.equal(nameAt(-0x7f00_0000 + 0x100), 'strong_one+0');
  assert.equal(nameAt(-0x7f00_0000 + 0x20f), 'the_same+15');
  // Constants end nothing; data does.
  assert.equal(nameAt(-0x7f00_0000 + 0x3ff), 'the_same+511');
  assert.equal(nameAt(-0x7f00_0000 + 0x400), 'some_data+0');
  // The last symbol of the kernel reaches through the page after its own, not to the first module.
  assert.equal(nameAt(-0x7f00_0000 + 0x1fff), `_etext+${0x1fff - 0x500}`);
  assert.equal(nameAt(-0x7f00_0000 + 0x2000), null);
  assert.equal(nameAt(-0x3fe0_0000 + 0xff), 'ext4_first+255');
  assert.equal(nameAt(-0x3fe0_0000 + 0x1fff), `ext4_second+${0x1fff - 0x100}`);
  assert.equal(nameAt(-0x3fd0_0000), 'snd_first+0');
  assert.equal(nameAt(-0x3fc0_0000), 'bpf_prog_6deef7357e7b4530_sd_fw+0');
});

test('one module alone, and the kernel moved', () => {
  const kallsyms = parse(TEXT);
  const module = kernelCodeSymbols(kallsyms, { module: 1, shift: 0x1000 });
  assert.equal(module.length, 2);
  assert.equal(module.name(module.lookup(-0x3fe0_0000 + 0x1000)), 'ext4_first');
  const kernel = kernelCodeSymbols(kallsyms, { module: 0, shift: 0x20_0000 });
  assert.equal(kernel.name(kernel.lookup(-0x7f00_0000 + 0x20_0200)), 'the_same');
  assert.equal(kernel.lookup(-0x3fe0_0000 + 0x20_0000), -1);
});

test('/proc/modules', () => {
  assert.deepEqual(
    parseModules(
      'ext4 1105920 2 - Live 0xffffffffc0211000\nx 1 0 a,b, Live 0x0000000000000000 (OE)\nbroken line\n\n',
    ),
    [
      { name: 'ext4', sizeBytes: 1105920, address: -0x3fde_f000 },
      { name: 'x', sizeBytes: 1, address: 0 },
    ],
  );
});
