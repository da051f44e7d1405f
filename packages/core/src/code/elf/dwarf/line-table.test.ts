/**
 * Line tables against readelf of binutils, on what gcc writes; and made by hand for what gcc
 * of this machine does not write.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memorySource } from '../../../base/index.ts';
import { tinyElf } from '../../../test/tiny-elf.ts';
import {
  findSection,
  type LineTable,
  openElf,
  readDebugSection,
  readLines,
  SHF_COMPRESSED,
} from '../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'dwarf-lines-'));
after(() => rmSync(folder, { recursive: true }));
const has = (tool: string): boolean => spawnSync(tool, ['--version']).status === 0;
const absent = has('gcc') && has('readelf') ? false : 'gcc and readelf are not here';

const FIXTURES = fileURLToPath(new URL('../../../../../../fixtures/dwarf/', import.meta.url));

async function linesOf(path: string): Promise<{ table: LineTable; damage: number }> {
  const elf = await openElf(memorySource(new Uint8Array(readFileSync(path))));
  const table = await readLines(elf);
  assert.ok(table !== null);
  return { table, damage: elf.damage.total };
}

/**
 * `file line address statement` for each row, '-' for the line behind the last; sequences in
 * the order of their addresses.
 */
function ours(table: LineTable): string[] {
  const rows: string[] = [];
  for (let sequence = 0; sequence < table.sequenceCount; sequence++)
    for (let row = table.sequenceStart(sequence); ; row++) {
      const isEnd = table.isEnd(row);
      const name = table.filePath(table.file(row)).split('/').pop();
      const line = isEnd ? '-' : String(table.line(row));
      const mark = !isEnd && table.isStatement(row) ? ' x' : '';
      rows.push(`${name} ${line} 0x${table.address(row).toString(16)}${mark}`);
      if (isEnd) break;
    }
  return rows;
}

function readelf(path: string): string[] {
  return parseReadelf(spawnSync('readelf', ['-wL', '-W', path], { encoding: 'utf8' }).stdout);
}

function parseReadelf(text: string): string[] {
  const sequences: { start: number; rows: string[] }[] = [];
  let rows: string[] = [];
  let start = -1;
  for (const line of text.split('\n')) {
    const match = /^(\S+)\s+(\d+|-)\s+(0x[0-9a-f]+|0)(?:\[\d+\])?(?:\s+\d+)?(\s+x)?\s*(?:END)?$/.exec(line);
    if (match === null) continue;
    const [, name, number, address, mark] = match;
    if (rows.length === 0) start = Number(address);
    rows.push(`${name} ${number} ${address}${mark === undefined ? '' : ' x'}`);
    if (number !== '-') continue;
    if (start !== 0) sequences.push({ start, rows });
    rows = [];
  }
  return sequences.sort((a, b) => a.start - b.start).flatMap((sequence) => sequence.rows);
}

function compile(name: string, flags: string[]): string | null {
  for (const file of ['count.c', 'twice.h']) copyFileSync(join(FIXTURES, file), join(folder, file));
  const path = join(folder, name);
  const { status } = spawnSync(
    'gcc',
    [...flags, '-nostdlib', '-static', '-ffunction-sections', '-Wl,--gc-sections', 'count.c', '-o', path],
    { cwd: folder },
  );
  return status === 0 ? path : null;
}

for (const version of [4, 5])
  test(`the small program with lines of version ${version}, as readelf read them`, async () => {
    const path = join(FIXTURES, `lines-${version}.elf`);
    const { table, damage } = await linesOf(path);
    assert.deepEqual(
      ours(table),
      parseReadelf(readFileSync(join(FIXTURES, `lines-${version}.expected.txt`), 'utf8')),
    );
    assert.equal(damage, 0);
    const paths = Array.from({ length: table.fileCount }, (_, file) => table.filePath(file));
    assert.deepEqual(paths.slice(1).sort(), ['/src/count.c', '/src/twice.h']);
  });

const BUILDS: [string, string[]][] = [2, 3, 4, 5].flatMap((version): [string, string[]][] => [
  [`version ${version}, -O0`, [`-gdwarf-${version}`, '-O0']],
  [`version ${version}, -O2`, [`-gdwarf-${version}`, '-O2']],
]);
BUILDS.push(
  ['64-bit format, version 4', ['-gdwarf-4', '-gdwarf64']],
  ['64-bit format, version 5', ['-gdwarf-5', '-gdwarf64', '-O2']],
  ['compressed', ['-gdwarf-5', '-gz=zlib']],
  ['compressed the old way', ['-gdwarf-4', '-gz=zlib-gnu']],
  ['32-bit code', ['-m32', '-gdwarf-5', '-O2']],
);

for (const [name, flags] of BUILDS)
  test(`lines of gcc's output, ${name}: as readelf has them`, { skip: absent }, async (context) => {
    const path = compile('built', flags);
    if (path === null) return context.skip(`gcc does not know ${flags.join(' ')}`);
    const { table, damage } = await linesOf(path);
    const rows = ours(table);
    assert.ok(rows.length > 10);
    assert.deepEqual(rows, readelf(path));
    assert.equal(damage, 0);
    const paths = new Set(rows.map((_, row) => table.filePath(table.file(row))));
    assert.ok(paths.has(join(folder, 'count.c')), [...paths].join(' '));
    const last = table.sequenceCount - 1;
    const start = table.sequenceStart(last);
    assert.equal(table.address(table.lookup(table.address(start))), table.address(start));
    assert.equal(table.lookup(table.address(table.sequenceStart(0)) - 1), -1);
  });

test('compressed with zstd', { skip: absent }, async (context) => {
  const plain = join(FIXTURES, 'lines-5.elf');
  const packed = join(folder, 'packed');
  const { status } = spawnSync('objcopy', ['--compress-debug-sections=zstd', plain, packed]);
  if (status !== 0) return context.skip('objcopy does not know zstd');
  const elf = await openElf(memorySource(new Uint8Array(readFileSync(packed))));
  assert.notEqual(findSection(elf, '.debug_info')!.flags & SHF_COMPRESSED, 0);
  const info = await readDebugSection(elf, '.debug_info');
  const whole = await openElf(memorySource(new Uint8Array(readFileSync(plain))));
  assert.deepEqual(info, await readDebugSection(whole, '.debug_info'));
});

/** A line table of version 2 with one file, in either byte order: code at 0x1000 of lines 7, 9 and 9. */
function handMade(littleEndian: boolean, more: number[] = []): Uint8Array<ArrayBuffer> {
  const u32 = (value: number): number[] => {
    const bytes = [value >>> 24, value >>> 16, value >>> 8, value].map((byte) => byte & 0xff);
    return littleEndian ? bytes.reverse() : bytes;
  };
  const u16 = (value: number): number[] => (littleEndian ? [value, 0] : [0, value]);
  const text = (value: string): number[] => [...new TextEncoder().encode(value), 0];
  const head = [4, 1, 0xff, 4, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, ...text('/src'), 0, ...text('a.c'), 1, 0, 0, 0];
  const program = [
    ...[0, 5, 2, ...u32(0x1000)],
    ...[3, 6, 1],
    // A special opcode: address + 4 * 2, line + 2.
    10 + 2 * 4 + 3,
    ...[6, 2, 0x80, 1, 1],
    ...more,
    ...[9, ...u16(8)],
    ...[0, 1, 1],
  ];
  const body = [...u16(2), ...u32(head.length), ...head, ...program];
  return Uint8Array.from([...u32(body.length), ...body]);
}

async function tableOf(
  littleEndian: boolean,
  bytes: Uint8Array,
): Promise<{ rows: string[]; damage: string[] }> {
  const elf = await openElf(
    memorySource(tinyElf({ littleEndian, is64: false, sections: [{ name: '.debug_line', type: 1, bytes }] })),
  );
  const table = await readLines(elf);
  assert.ok(table !== null);
  return { rows: ours(table), damage: elf.damage.list().map(({ code }) => code) };
}

for (const littleEndian of [true, false])
  test(`version 2 by hand, ${littleEndian ? 'little' : 'big'} endian`, async () => {
    assert.deepEqual(await tableOf(littleEndian, handMade(littleEndian)), {
      rows: ['a.c 7 0x1000 x', 'a.c 9 0x1008 x', 'a.c 9 0x1208', 'a.c - 0x1210'],
      damage: [],
    });
  });

test('damage: what came before it is kept, and counted', async () => {
  const whole = handMade(true);
  const cut = whole.slice(0, -8);
  cut[0] = cut[0]! - 8;
  const { rows, damage } = await tableOf(true, cut);
  assert.deepEqual(rows.slice(0, 2), ['a.c 7 0x1000 x', 'a.c 9 0x1008 x']);
  assert.deepEqual(damage, ['dwarf-line-program']);
  assert.deepEqual((await tableOf(true, whole.slice(0, -1))).damage, ['dwarf-line-header']);
  // Addresses that go back.
  const back = await tableOf(true, handMade(true, [0, 5, 2, 0, 0, 0, 0, 1]));
  assert.deepEqual(back, { rows: [], damage: ['dwarf-line-order'] });
});
