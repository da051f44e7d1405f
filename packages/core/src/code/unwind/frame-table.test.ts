/** Rules of every instruction of real binaries, against those that `readelf` prints. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { EM_X86_64, findSection, openElf, readSectionBytes } from '../elf/index.ts';
import {
  REGISTER_AT_EXPRESSION,
  REGISTER_AT_OFFSET,
  REGISTER_IN_REGISTER,
  REGISTER_IS_EXPRESSION,
  REGISTER_IS_OFFSET,
  REGISTER_UNDEFINED,
  type UnwindRule,
} from './call-frame-program.ts';
import type { FrameSection } from './frame-entries.ts';
import { type FrameTable, indexedFrameTable, scannedFrameTable } from './frame-table.ts';

const NAMES = 'rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra'.split(' ');
/** Rows of a binary that are compared, evenly spread. */
const MOST_ROWS = 10_000;

const noReadelf = spawnSync('readelf', ['--version']).status === 0 ? false : 'readelf is not installed';
const FIXTURE = new URL('../../../../../fixtures/dwarf/frames.elf', import.meta.url).pathname;
const BINARIES = [FIXTURE, process.execPath, ...libraries(process.execPath), '/usr/bin/gdb'].filter(
  (path) => process.arch === 'x64' && existsSync(path),
);

function libraries(path: string): string[] {
  const { stdout } = spawnSync('ldd', [path], { encoding: 'utf8' });
  return [...(stdout ?? '').matchAll(/(\/\S+)/g)].map((match) => realpathSync(match[1]!));
}

/** A row as readelf prints it: address, frame, and what is known of each register. */
interface PrintedRow {
  address: number;
  end: number;
  cells: ReadonlyMap<string, string>;
}

/** FDEs without a row of their own have that of their CIE. */
function printedRows(path: string): PrintedRow[] {
  const { stdout } = spawnSync('readelf', ['--debug-dump=frames-interp', path], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    env: { ...process.env, LC_ALL: 'C' },
  });
  const rows: PrintedRow[] = [];
  let columns: string[] = [];
  let range: { start: number; end: number } | null = null;
  // What readelf prints of .debug_frame stands behind it.
  const ehFrame = stdout.slice(stdout.indexOf('.eh_frame section')).split(/^Contents of/m)[0]!;
  for (const line of ehFrame.split('\n')) {
    const entry = / FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)/.exec(line);
    if (entry !== null) range = { start: parseInt(entry[1]!, 16), end: parseInt(entry[2]!, 16) };
    else if (/ CIE /.test(line)) range = null;
    else if (line.includes('   LOC')) columns = line.trim().split(/\s+/).slice(1);
    else if (range !== null && /^[0-9a-f]{16} /.test(line)) {
      // `r9 (r9)`: in another register.
      const plain = line.replaceAll(/\br\d+ \((\w+)\)/g, '$1');
      const [address, ...cells] = plain.trim().split(/\s+/);
      const known = new Map(columns.map((name, at) => [name, cells[at]!]));
      rows.push({ address: parseInt(address!, 16), end: range.end, cells: known });
    }
  }
  return rows;
}

function cfaText({ cfaRegister, cfaOffset }: UnwindRule): string {
  return cfaRegister < 0 ? 'exp' : `${NAMES[cfaRegister]}${cfaOffset < 0 ? '' : '+'}${cfaOffset}`;
}

/** Registers that readelf has no column for are the same as the caller's. */
function registerTexts({ registers }: UnwindRule): Map<string, string> {
  const texts = new Map<string, string>();
  for (let at = 0; at < registers.length; at += 3)
    texts.set(NAMES[registers[at]!] ?? '?', kindText(registers[at + 1]!, registers[at + 2]!));
  return texts;
}

function kindText(kind: number, value: number): string {
  const signed = `${value < 0 ? '' : '+'}${value}`;
  if (kind === REGISTER_AT_OFFSET) return `c${signed}`;
  if (kind === REGISTER_IS_OFFSET) return `v${signed}`;
  if (kind === REGISTER_IN_REGISTER) return NAMES[value] ?? '?';
  if (kind === REGISTER_AT_EXPRESSION) return 'exp';
  return kind === REGISTER_IS_EXPRESSION ? 'vexp' : kind === REGISTER_UNDEFINED ? 'u' : '?';
}

async function tablesOf(path: string): Promise<FrameTable[]> {
  const elf = await openElf(memorySource(new Uint8Array(readFileSync(path))));
  assert.equal(elf.machine, EM_X86_64);
  const frames = findSection(elf, '.eh_frame')!;
  const header = findSection(elf, '.eh_frame_hdr')!;
  const section: FrameSection = {
    bytes: (await readSectionBytes(elf, frames))!,
    address: frames.address,
    isEhFrame: true,
    pointerBytes: 8,
    littleEndian: true,
  };
  const bytes = (await readSectionBytes(elf, header))!;
  const indexed = indexedFrameTable(section, { bytes, address: header.address });
  const scanned = scannedFrameTable(section);
  assert.ok(indexed !== null && scanned !== null, path);
  return [indexed, scanned];
}

for (const path of BINARIES) {
  test(`rules of ${path} are those of readelf`, { skip: noReadelf }, async () => {
    const rows = printedRows(path);
    const step = Math.max(1, Math.floor(rows.length / MOST_ROWS));
    const tables = await tablesOf(path);
    let compared = 0;
    for (let index = 0; index < rows.length; index += step) {
      const { address, end, cells } = rows[index]!;
      if (address >= end) continue;
      for (const table of tables) {
        const rule = table.ruleAt(address);
        const where = `${path} at 0x${address.toString(16)}`;
        assert.ok(rule !== null, where);
        assert.equal(cfaText(rule), cells.get('CFA'), where);
        const texts = registerTexts(rule);
        for (const [name, cell] of cells) {
          if (name === 'CFA') continue;
          // readelf prints `u` for a column that another row of the entry is about.
          const own = texts.get(name);
          if (own !== undefined || !/^[us]$/.test(cell)) assert.equal(own, cell, `${where}, ${name}`);
          texts.delete(name);
        }
        assert.deepEqual([...texts], [], where);
      }
      compared++;
    }
    assert.ok(compared > 0, `${path}: ${compared} rows of ${rows.length}`);
  });
}
