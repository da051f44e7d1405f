import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/random.ts';
import { parsePerfMap } from '../jit/index.ts';
import type { CodeSymbols } from './index.ts';
import { perfMapSymbols } from './perf-map-symbols.ts';

const tableOf = (text: string): CodeSymbols => perfMapSymbols(parsePerfMap(new TextEncoder().encode(text)));

function nameAt(table: CodeSymbols, address: number): string | null {
  const symbol = table.lookup(address);
  return symbol === -1 ? null : table.name(symbol);
}

test('the last line written has the bytes, older code keeps what is left of it', () => {
  const table = tableOf('100 100 old\n300 10 other\n140 20 new\n140 20 newest\n');
  assert.deepEqual(
    [0xff, 0x100, 0x13f, 0x140, 0x15f, 0x160, 0x1ff, 0x200, 0x300].map((at) => nameAt(table, at)),
    [null, 'old', 'old', 'newest', 'newest', 'old', 'old', null, 'other'],
  );
  // "new" lost all its bytes and is forgotten.
  assert.equal(table.length, 3);
  const old = table.lookup(0x170);
  assert.deepEqual([table.start(old), table.end(old)], [0x100, 0x200]);
});

test('names stay as written: no demangling', () => {
  const table = tableOf('100 10 _Z3foov\n');
  assert.equal(table.name(table.lookup(0x100)), '_Z3foov');
});

test('lookups agree with painting byte by byte, in any order of lines', () => {
  const random = new Random(23);
  for (let round = 0; round < 200; round++) {
    const painted = new Array<string | null>(300).fill(null);
    const lines = Array.from({ length: 25 }, (_, line) => {
      const start = random.below(200);
      const size = 1 + random.below(random.oneIn(4) ? 90 : 10);
      painted.fill(`f${line}`, start, start + size);
      return `${start.toString(16)} ${size.toString(16)} f${line}`;
    });
    const table = tableOf(lines.join('\n'));
    painted.forEach((name, address) => {
      assert.equal(nameAt(table, address), name, `${address} in ${lines.join('; ')}`);
    });
  }
});

test('many lines that all overlap: each keeps the bytes up to the next', () => {
  const lines: string[] = [];
  for (let line = 0; line < 50_000; line++) lines.push(`${(line * 16).toString(16)} 7fffffff f${line}`);
  const table = tableOf(lines.join('\n'));
  assert.equal(nameAt(table, 160), 'f10');
  assert.equal(table.length, 50_000);
});
