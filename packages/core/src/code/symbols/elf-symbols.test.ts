import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { type TinyElf, type TinySymbol, tinyElf } from '../../test/tiny-elf.ts';
import { openElf, PT_LOAD, readPlt, readSymbols } from '../elf/index.ts';
import { type CodeSymbols, elfCodeSymbols } from './index.ts';

const TEXT = { name: '.text', type: 1, bytes: new Uint8Array(0x100), address: 0x40_1000 };
const DATA = { name: '.rodata', type: 1, bytes: new Uint8Array(0x10), address: 0x40_2000 };
const OTHER = { name: '.init', type: 1, bytes: new Uint8Array(0x10), address: 0x40_3000 };
const LOADED = { type: PT_LOAD, offset: 0x1000, address: 0x40_1000, fileSize: 0x2800, memorySize: 0x4000 };

async function tableOf(symbols: TinySymbol[], elf: TinyElf = {}): Promise<CodeSymbols> {
  const bytes = tinyElf({ sections: [TEXT, DATA, OTHER], segments: [LOADED], ...elf, symbols });
  const file = await openElf(memorySource(bytes));
  const table = (await readSymbols(file, 'symtab'))!;
  const parts = { tables: [{ elf: file, symbols: table }], plt: await readPlt(file), layout: file };
  return elfCodeSymbols(parts, (name) => name.replace(/^_Z/, ''));
}

function nameAt(table: CodeSymbols, address: number): string | null {
  const symbol = table.lookup(address);
  return symbol === -1 ? null : table.name(symbol);
}

test('addresses become file offsets', async () => {
  const table = await tableOf([{ name: 'f', value: 0x40_1010, size: 0x20 }]);
  const symbol = table.lookup(0x1010);
  assert.deepEqual([table.start(symbol), table.end(symbol), table.rawName(symbol)], [0x1010, 0x1030, 'f']);
  assert.deepEqual(
    [0x100f, 0x102f, 0x1030].map((offset) => nameAt(table, offset)),
    [null, 'f', null],
  );
});

test('relocatable files go by sections', async () => {
  const table = await tableOf([{ name: 'init_module', value: 0x10, size: 8 }], {
    type: 1,
    segments: [],
    sections: [{ ...TEXT, address: 0 }],
  });
  assert.equal(nameAt(table, 0x210), 'init_module');
});

test('what has no bytes in the file has no place in it', async () => {
  const table = await tableOf([
    { name: 'bss', value: 0x40_4000, size: 8, type: 1 },
    { name: 'nowhere', value: 0x90_0000, size: 8, section: 0xffff },
  ]);
  assert.equal(table.length, 0);
});

test('functions, objects, indirect functions, and labels in text; nothing else', async () => {
  const at = (place: number) => 0x40_1000 + place * 16;
  const table = await tableOf([
    { name: 'func', value: at(0), size: 16 },
    { name: 'object', value: at(1), size: 16, type: 1 },
    { name: 'indirect', value: at(2), size: 16, type: 10 },
    { name: 'label', value: at(3), size: 16, type: 0 },
    { name: 'hidden_label', value: at(4), size: 16, type: 0, visibility: 2 },
    { name: 'undefined', value: at(5), size: 16, section: 0 },
    { name: 'absolute', value: at(6), size: 16, section: 0xfff1 },
    { name: 'section', value: at(7), size: 16, type: 3 },
    { name: 'thread_local', value: at(8), size: 16, type: 6 },
    { name: '', value: at(9), size: 16 },
    { name: 'label_in_rodata', value: 0x40_2000, size: 8, type: 0, section: 2 },
    { name: 'label_in_init', value: 0x40_3000, size: 8, type: 0, section: 3 },
  ]);
  const names = Array.from({ length: table.length }, (_, symbol) => table.name(symbol));
  assert.deepEqual(names, ['func', 'object', 'indirect', 'label', 'label_in_rodata']);
});

test('the best of several names at one address', async () => {
  const best = async (...symbols: Partial<TinySymbol>[]) =>
    nameAt(await tableOf(symbols.map((one) => ({ name: '?', value: 0x40_1000, size: 16, ...one }))), 0x1000);
  assert.equal(await best({ name: 'empty_but_long', size: 0 }, { name: 'sized' }), 'sized');
  assert.equal(await best({ name: 'weak_but_long', binding: 2 }, { name: 'local', binding: 0 }), 'local');
  assert.equal(await best({ name: 'local_but_long', binding: 0 }, { name: 'global' }), 'global');
  assert.equal(await best({ name: '__underscored' }, { name: 'plain' }), 'plain');
  assert.equal(await best({ name: 'short' }, { name: 'longer' }), 'longer');
  assert.equal(await best({ name: 'first' }, { name: 'other' }), 'first');
  // Names are compared as people read them: these tie, where raw the second would have an underscore more.
  assert.equal(await best({ name: 'same_1' }, { name: '_Zsame_2' }), 'same_1');
  assert.equal(await best({ name: '_Zshort' }, { name: '_Zlonger' }, { name: '_Zlongest' }), 'longest');
});

test('of names that differ in size the chosen one gives the size', async () => {
  const table = await tableOf([
    { name: 'short', value: 0x40_1000, size: 16 },
    { name: 'longer', value: 0x40_1000, size: 32 },
  ]);
  assert.deepEqual([nameAt(table, 0x101f), nameAt(table, 0x1020)], ['longer', null]);
});

test('a function without a size reaches to the next one, the last one through the next page', async () => {
  const table = await tableOf([
    { name: 'sized', value: 0x40_1040, size: 8 },
    { name: 'unsized', value: 0x40_1000 },
    { name: 'last', value: 0x40_1060 },
  ]);
  assert.deepEqual(
    [0x103f, 0x1040, 0x1048, 0x1060, 0x2fff, 0x3000].map((offset) => nameAt(table, offset)),
    ['unsized', 'sized', null, 'last', 'last', null],
  );
});

test('marks of code and data are dropped on ARM only, and Thumb functions start at their even address', async () => {
  const symbols = [
    { name: '$x', value: 0x40_1000, size: 4, type: 0 },
    { name: '$d.realdata', value: 0x40_1004, size: 4, type: 0 },
    { name: '$dollar', value: 0x40_1008, size: 4 },
    { name: 'thumb', value: 0x40_1011, size: 4 },
  ];
  const names = async (machine: number) => {
    const table = await tableOf(symbols, { machine });
    return Array.from(
      { length: table.length },
      (_, index) => `${table.start(index) - 0x1000} ${table.name(index)}`,
    );
  };
  assert.deepEqual(await names(40), ['8 $dollar', '16 thumb']);
  assert.deepEqual(await names(183), ['8 $dollar', '17 thumb']);
  assert.deepEqual(await names(62), ['0 $x', '4 $d.realdata', '8 $dollar', '17 thumb']);
});

test('names are decoded and demangled once', async () => {
  let calls = 0;
  const bytes = tinyElf({
    sections: [TEXT],
    segments: [LOADED],
    symbols: [{ name: '_Z1fv', value: 0x40_1000, size: 4 }],
  });
  const elf = await openElf(memorySource(bytes));
  const symbols = (await readSymbols(elf, 'symtab'))!;
  const table = elfCodeSymbols({ tables: [{ elf, symbols }], plt: [], layout: elf }, (name) => {
    calls++;
    return `${name}!`;
  });
  assert.equal(calls, 0);
  assert.deepEqual([table.name(0), table.name(0), table.rawName(0), calls], ['_Z1fv!', '_Z1fv!', '_Z1fv', 1]);
});
