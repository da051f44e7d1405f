/** What debug sections claim costs what their bytes are worth. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../../base/index.ts';
import { tinyElf } from '../../../test/tiny-elf.ts';
import { openElf, readDebugSection, readLines, SHF_COMPRESSED } from '../index.ts';
import { DwarfCursor } from './dwarf-cursor.ts';
import { DW_FORM_UDATA } from './dwarf-facts.ts';
import { MOST_ENTRIES, readLineHeader } from './line-header.ts';
import { runLineProgram } from './line-program.ts';
import { LineRows } from './line-rows.ts';
import { skipForm } from './skip-form.ts';

function u32(value: number): number[] {
  return [value, value >>> 8, value >>> 16, value >>> 24].map((byte) => byte & 0xff);
}

function elfWith(bytes: Uint8Array, flags = 0) {
  return openElf(memorySource(tinyElf({ sections: [{ name: '.debug_line', type: 1, bytes, flags }] })));
}

/** A head of version 5 whose folders are so many single bytes, each an index of a folder. */
function manyFolders(count: number): Uint8Array<ArrayBuffer> {
  const uleb = [
    (count & 0x7f) | 0x80,
    ((count >>> 7) & 0x7f) | 0x80,
    ((count >>> 14) & 0x7f) | 0x80,
    count >>> 21,
  ];
  const head = [...[1, 1, 1, 0xff, 4, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1], ...[1, 2, 0x0b], ...uleb];
  const headLength = head.length + count + 2;
  const whole = new Uint8Array(12 + headLength);
  whole.set([...u32(8 + headLength), 5, 0, 8, 0, ...u32(headLength), ...head]);
  return whole;
}

test('entries of a byte each are not kept without end', async () => {
  const few = await elfWith(manyFolders(1000));
  assert.notEqual(await readLines(few), null);
  assert.equal(few.damage.total, 0);
  const many = await elfWith(manyFolders(MOST_ENTRIES + 1));
  await readLines(many);
  assert.deepEqual(
    many.damage.list().map(({ code }) => code),
    ['dwarf-line-header'],
  );
});

test('rows have an end: those before it are kept, as a sequence', () => {
  // Rows one after the other: copy, copy, ...
  const body = [
    2,
    0,
    ...u32(22),
    ...[1, 1, 0xff, 4, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1],
    0,
    0x61,
    0,
    0,
    0,
    0,
    0,
    0,
  ];
  const section = Uint8Array.from([...u32(body.length + 100), ...body, ...new Array<number>(100).fill(1)]);
  const read = (mostRows?: number) => {
    const cursor = new DwarfCursor(section, true);
    const header = readLineHeader(cursor, { str: null, lineStr: null });
    assert.ok(header !== null);
    const rows = new LineRows();
    runLineProgram(cursor, header, rows, () => 1, mostRows);
    return rows;
  };
  assert.equal(read().length, 101);
  const cut = read(10);
  assert.equal(cut.length, 11);
  assert.equal(cut.flags[10]! & 2, 2);
});

test('a window of Zstandard that is larger than zstd itself would take is refused, not allocated', async () => {
  // A frame whose window is 2 GB and whose only block is one byte; 24 bytes before it say zstd and the size.
  const frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xaf, 0x09, 0x00, 0x00, 0x61];
  const head = [...u32(2), ...u32(0), ...u32(1), ...u32(0), ...u32(1), ...u32(0)];
  const elf = await elfWith(Uint8Array.from([...head, ...frame]), SHF_COMPRESSED);
  const before = process.memoryUsage().arrayBuffers;
  assert.equal(await readDebugSection(elf, '.debug_line'), null);
  assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 24);
  assert.equal(elf.damage.total, 1);
  // The same with a window of 1 KiB.
  frame[5] = 0;
  const small = await elfWith(Uint8Array.from([...head, ...frame]), SHF_COMPRESSED);
  assert.deepEqual([...(await readDebugSection(small, '.debug_line'))!], [0x61]);
});

test('a section that claims to be a thousand times as large as its bytes is not allocated', async () => {
  const head = [...u32(1), ...u32(0), ...u32(1 << 29), ...u32(0), ...u32(1), ...u32(0)];
  const elf = await elfWith(
    Uint8Array.from([...head, ...new Array<number>(1 << 19).fill(0)]),
    SHF_COMPRESSED,
  );
  const before = process.memoryUsage().arrayBuffers;
  assert.equal(await readDebugSection(elf, '.debug_line'), null);
  assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 24);
});

test('numbers: every length that is exact, and what is longer is damage, not another number', () => {
  const read = (bytes: number[], how: 'uleb' | 'sleb') => {
    const cursor = new DwarfCursor(Uint8Array.from(bytes), true);
    const value = cursor[how]();
    return cursor.isDamaged ? 'damaged' : value;
  };
  assert.equal(read([0x7f], 'sleb'), -1);
  assert.equal(read([0xff, 0xff, 0x7f], 'sleb'), -1);
  assert.equal(read([0x80, 0x7f], 'sleb'), -128);
  assert.equal(read([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 'sleb'), -1);
  for (const length of [8, 9, 10])
    assert.equal(read([...new Array<number>(length - 1).fill(0xff), 0x7f], 'sleb'), 'damaged');
  assert.equal(read([0x85, 0x80, 0x80, 0x00], 'uleb'), 5);
  assert.equal(read([...new Array<number>(9).fill(0xff), 0x7f], 'uleb'), 'damaged');
  // A constant that is only gone over may have all 64 bits.
  const cursor = new DwarfCursor(Uint8Array.of(...new Array<number>(9).fill(0x80), 0x01, 0x2a), true);
  skipForm(cursor, DW_FORM_UDATA, { version: 5, is64: false, addressSize: 8 });
  assert.deepEqual([cursor.u8(), cursor.isDamaged], [0x2a, false]);
});
