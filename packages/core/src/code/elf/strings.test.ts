import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { assertQuick } from '../../test/assert-quick.ts';
import { openElf, readSymbols } from './index.ts';
import { ElfNames, MAX_NAME_BYTES } from './strings.ts';

const encoder = new TextEncoder();

test('names end at a NUL, at the end of the table, or at 64 KiB', () => {
  const names = new ElfNames(encoder.encode('\0one\0two'));
  assert.deepEqual(
    [0, 1, 2, 5, 8, 9, 1e9].map((offset) => names.at(offset)),
    ['', 'one', 'ne', 'two', '', '', ''],
  );
  assert.equal(new ElfNames(new Uint8Array(1 << 17).fill(0x61)).at(5).length, MAX_NAME_BYTES);
});

test('a table that gives far more names than it holds gives their beginnings', () => {
  const names = new ElfNames(new Uint8Array(MAX_NAME_BYTES).fill(0x61));
  let length = 0;
  for (let n = 0; n < 100_000; n++) length += names.at(n % 100).length;
  assert.ok(length < 30e6, `${length} characters`);
  assert.equal(names.at(0).length, 256);
});

/** 20,000 section headers that all name the same 64 KiB, and a symbol table of as many symbols that do. */
function manyNames(): Uint8Array<ArrayBuffer> {
  const count = 20_000;
  const sectionsAt = 64;
  const symbolsAt = sectionsAt + count * 64;
  const stringsAt = symbolsAt + count * 24;
  const bytes = new Uint8Array(stringsAt + MAX_NAME_BYTES).fill(0xc3, stringsAt);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x7f454c46);
  bytes.set([2, 1, 1], 4);
  view.setUint16(18, 62, true);
  view.setUint32(40, sectionsAt, true);
  view.setUint16(58, 64, true);
  view.setUint16(60, count, true);
  view.setUint16(62, 1, true);
  const section = (index: number, type: number, offset: number, size: number, link: number) => {
    const at = sectionsAt + index * 64;
    view.setUint32(at + 4, type, true);
    view.setUint32(at + 24, offset, true);
    view.setUint32(at + 32, size, true);
    view.setUint32(at + 40, link, true);
  };
  for (let index = 1; index < count; index++) section(index, 3, stringsAt, MAX_NAME_BYTES, 0);
  section(2, 2, symbolsAt, count * 24, 1);
  for (let row = 0; row < count; row++) view.setUint32(symbolsAt + row * 24, row % 50, true);
  return bytes;
}

test('section and symbol names that share a long string cost by the bytes of the file', async () => {
  const bytes = manyNames();
  const read = async () => {
    const elf = await openElf(memorySource(bytes));
    const symbols = (await readSymbols(elf, 'symtab'))!;
    let length = elf.sections.reduce((sum, { name }) => sum + name.length, 0);
    assert.ok(elf.sections.length === 20_000 && symbols.count === 20_000);
    for (let row = 0; row < symbols.count; row++) length += symbols.name(row).length;
    assert.ok(length < 10 * bytes.length, `${length} characters of ${bytes.length} bytes`);
  };
  await assertQuick(1500, read);
});
