import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openElf, readSymbols } from '@counterpoint/core/elf';
import { type ReadBytes, SymbolHash } from './symbol-hash.ts';

const FILES = [process.execPath, '/usr/lib/x86_64-linux-gnu/libc.so.6', '/bin/ls'].filter(existsSync);

function readerOf(bytes: Uint8Array<ArrayBuffer>): { read: ReadBytes; reads: number[] } {
  const reads: number[] = [];
  const read: ReadBytes = (offset, length) => {
    reads.push(length);
    return bytes.slice(Math.min(offset, bytes.length), Math.min(offset + length, bytes.length));
  };
  return { read, reads };
}

test('symbols are found by name as the table has them, and others are not', async (t) => {
  let compared = 0;
  for (const path of FILES) {
    const bytes = new Uint8Array(readFileSync(path));
    const elf = await openElf(memorySource(bytes));
    const symbols = await readSymbols(elf, 'dynsym');
    const { read, reads } = readerOf(bytes);
    const hash = SymbolHash.open(elf, read);
    if (hash === null || symbols === null) continue;
    const rows = new Map<string, number[]>();
    for (let row = 0; row < symbols.count; row++) {
      const name = symbols.name(row);
      rows.set(name, [...(rows.get(name) ?? []), row]);
    }
    for (const [name, all] of [...rows].filter((_, index) => index % 17 === 0)) {
      const defined = all.filter((row) => symbols.section(row) !== 0);
      if (name === '' || defined.length === 0) continue;
      const found = hash.find(name);
      assert.ok(
        defined.some((row) => symbols.value(row) === found?.value && symbols.section(row) === found.section),
        `${path}: ${name}`,
      );
      assert.equal(hash.find(`${name}_that_nobody_has`), null);
      compared++;
    }
    const most = Math.max(...reads);
    assert.ok(most < 1 << 16, `${path}: a read of ${most} bytes`);
  }
  if (compared === 0) return t.skip('no file here has the table');
  assert.ok(compared > 100, `${compared} names`);
});
