import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ByteSource, FormatError, memorySource } from '../../base/index.ts';
import { Random } from '../../test/random.ts';
import { buildIdNote, CONTENT_OFFSET, tinyElf } from '../../test/tiny-elf.ts';
import {
  crc32,
  crc32OfSource,
  findSection,
  openElf,
  PT_LOAD,
  PT_NOTE,
  readBuildId,
  readDebugLink,
  readPlt,
  readSectionBytes,
  readSymbols,
  SHT_NOTE,
} from './index.ts';

const ID = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
const SHAPES = [
  { is64: true, littleEndian: true },
  { is64: true, littleEndian: false },
  { is64: false, littleEndian: true },
  { is64: false, littleEndian: false },
];

for (const { is64, littleEndian } of SHAPES) {
  test(`headers, sections, symbols and build id of ${is64 ? 64 : 32} bits, ${littleEndian ? 'little' : 'big'} endian`, async () => {
    const note = buildIdNote(ID, littleEndian);
    const high = is64 ? -0x7f00_0000 : 0xc000_8000;
    const bytes = tinyElf({
      is64,
      littleEndian,
      machine: 183,
      type: 2,
      sections: [
        { name: '.note.gnu.build-id', type: SHT_NOTE, bytes: note, address: 0x40_0200 },
        { name: '.text', type: 1, bytes: Uint8Array.of(1, 2, 3, 4), address: 0x40_1000 },
      ],
      segments: [
        { type: PT_LOAD, offset: 0, address: 0x40_0000, fileSize: 0x400 },
        { type: PT_NOTE, offset: CONTENT_OFFSET, address: 0x40_0200, fileSize: note.length, flags: 4 },
      ],
      symbols: [
        { name: 'local', value: 0x40_1000, size: 4, binding: 0, section: 2 },
        { name: 'kernel_high', value: high, size: 0x1_0010, type: 10, binding: 2, visibility: 2, section: 2 },
      ],
    });
    const elf = await openElf(memorySource(bytes));
    assert.deepEqual([elf.is64, elf.littleEndian, elf.type, elf.machine], [is64, littleEndian, 2, 183]);
    assert.equal(elf.damage.total, 0);
    assert.deepEqual(
      elf.segments.map((one) => [one.type, one.flags, one.offset, one.address, one.fileSize]),
      [
        [PT_LOAD, 5, 0, 0x40_0000, 0x400],
        [PT_NOTE, 4, CONTENT_OFFSET, 0x40_0200, note.length],
      ],
    );
    const text = findSection(elf, '.text')!;
    assert.equal(text.address, 0x40_1000);
    assert.deepEqual(await readSectionBytes(elf, text), Uint8Array.of(1, 2, 3, 4));
    assert.equal(await readBuildId(elf), ID);
    const symbols = (await readSymbols(elf, 'symtab'))!;
    assert.equal(symbols.count, 3);
    const row = (index: number) => [
      symbols.name(index),
      symbols.value(index),
      symbols.size(index),
      symbols.info(index),
      symbols.visibility(index),
      symbols.section(index),
    ];
    assert.deepEqual(row(1), ['local', 0x40_1000, 4, 0x02, 0, 2]);
    assert.deepEqual(row(2), ['kernel_high', high, 0x1_0010, 0x2a, 2, 2]);
    assert.equal(await readSymbols(elf, 'dynsym'), null);
  });
}

test('a build id is found in the note section of a file without segments, and among other notes', async () => {
  const other = Uint8Array.of(
    6,
    0,
    0,
    0,
    5,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    76,
    105,
    110,
    117,
    120,
    0,
    0,
    0,
    1,
    2,
    3,
    4,
    5,
    0,
    0,
    0,
  );
  const note = new Uint8Array([...other, ...buildIdNote('0123456789abcdef')]);
  const elf = await openElf(
    memorySource(tinyElf({ type: 1, sections: [{ name: '.notes', type: SHT_NOTE, bytes: note }] })),
  );
  assert.equal(await readBuildId(elf), '0123456789abcdef');
});

test('the debug link is a plain file name with its checksum', async () => {
  const link = (name: string) => {
    const bytes = new Uint8Array(Math.ceil((name.length + 1) / 4) * 4 + 4);
    bytes.set(new TextEncoder().encode(name));
    bytes.set([0x78, 0x56, 0x34, 0x12], bytes.length - 4);
    return tinyElf({ sections: [{ name: '.gnu_debuglink', type: 1, bytes }] });
  };
  const good = await openElf(memorySource(link('libfoo.debug')));
  assert.deepEqual(await readDebugLink(good), { name: 'libfoo.debug', crc: 0x1234_5678 });
  assert.equal(await readDebugLink(await openElf(memorySource(link('../../etc/shadow')))), null);
});

test('CRC-32 is that of gzip, in one piece and in several', async () => {
  const digits = new TextEncoder().encode('123456789');
  assert.equal(crc32(digits), 0xcbf4_3926);
  assert.equal(crc32(digits.subarray(5), crc32(digits.subarray(0, 5))), 0xcbf4_3926);
  assert.equal(await crc32OfSource(memorySource(digits)), 0xcbf4_3926);
  const random = new Random(1).bytes(10_001);
  let slow = ~0;
  for (const byte of random) {
    slow ^= byte;
    for (let bit = 0; bit < 8; bit++) slow = (slow >>> 1) ^ (slow & 1 ? 0xedb8_8320 : 0);
  }
  assert.equal(crc32(random), ~slow >>> 0);
});

test('other files are refused by name of what they are not', async () => {
  const refused = async (bytes: number[]) => {
    await assert.rejects(openElf(memorySource(Uint8Array.from(bytes))), FormatError);
  };
  await refused([]);
  await refused([0x7f, 0x45, 0x4c]);
  await refused([...new TextEncoder().encode('#!/bin/sh\nexec true\n')]);
  await refused([...tinyElf({}).subarray(0, 40)]);
});

test('headers that point outside the file leave their tables empty, counted', async () => {
  const bytes = tinyElf({ segments: [{ type: PT_LOAD, offset: 0, address: 0, fileSize: 16 }] });
  const view = new DataView(bytes.buffer);
  view.setBigUint64(32, 0xffff_ffff_ffffn, true);
  view.setBigUint64(40, BigInt(bytes.length - 70), true);
  const elf = await openElf(memorySource(bytes));
  assert.equal(elf.segments.length, 0);
  assert.equal(elf.damage.count('elf-segments-cut'), 1);
  assert.equal(elf.damage.count('elf-sections-cut'), 1);
});

test('readelf sees the same sections in the running node', { skip: hasNoReadelf() }, async () => {
  const { stdout } = spawnSync('readelf', ['-SW', process.execPath], { encoding: 'utf8' });
  const bytes = new Uint8Array(readFileSync(process.execPath));
  const elf = await openElf(memorySource(bytes));
  const lines = [...stdout.matchAll(/^ +\[ *(\d+)\] (\S+) +\S+ +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+)/gm)];
  assert.ok(lines.length > 10);
  for (const [, index, name, address, offset, size] of lines) {
    const section = elf.sections[Number(index)]!;
    assert.equal(section.name, name);
    assert.deepEqual(
      [section.address, section.offset, section.size],
      [address, offset, size].map((hex) => Number.parseInt(hex!, 16)),
    );
  }
});

function hasNoReadelf(): string | false {
  return spawnSync('readelf', ['--version']).status === 0 ? false : 'readelf is not installed';
}

test('fuzz: a change of whatever byte is survived, with no read outside and no large one', async () => {
  const random = new Random(20);
  const bytes = tinyElf({
    sections: [
      { name: '.text', type: 1, bytes: random.bytes(64), address: 0x1000 },
      { name: '.note', type: SHT_NOTE, bytes: buildIdNote(ID) },
      { name: '.plt', type: 1, bytes: random.bytes(64), address: 0x2000, entrySize: 16 },
      { name: '.rela.plt', type: 4, bytes: random.bytes(72), link: '.dynsym' },
      { name: '.gnu_debuglink', type: 1, bytes: random.bytes(16) },
    ],
    segments: [{ type: PT_LOAD, offset: 0, address: 0, fileSize: 0x400 }],
    symbols: [{ name: 'one', value: 0x1000 }],
    dynamicSymbols: [{ name: 'two', value: 0x1010 }],
  });
  for (let round = 0; round < 2000; round++) {
    const mutated = bytes.slice(0, random.oneIn(8) ? random.below(bytes.length) : bytes.length);
    for (let change = random.below(4); change >= 0 && mutated.length > 0; change--) {
      // Headers are where damage hurts: half of the changes go there.
      const at = random.oneIn(2)
        ? random.below(Math.min(0x100, mutated.length))
        : random.below(mutated.length);
      mutated[at] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)]);
    }
    await walkEverything(mutated);
  }
});

/** Reads all there is; a FormatError is the only way out. */
async function walkEverything(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const inner = memorySource(bytes);
  let read = 0;
  const source: ByteSource = {
    size: bytes.length,
    read: async (offset, length) => {
      assert.ok(offset >= 0 && length >= 0 && length <= 1 << 26, `read of ${length} at ${offset}`);
      read += Math.min(length, bytes.length);
      assert.ok(read < 100 * bytes.length + 1000, 'reads the file over and over');
      return inner.read(offset, length);
    },
  };
  try {
    const elf = await openElf(source);
    await readBuildId(elf);
    await readDebugLink(elf);
    await readPlt(elf);
    for (const table of ['symtab', 'dynsym'] as const) {
      const symbols = await readSymbols(elf, table);
      for (let row = 0; row < (symbols?.count ?? 0); row++) symbols!.name(row);
    }
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
  }
}
