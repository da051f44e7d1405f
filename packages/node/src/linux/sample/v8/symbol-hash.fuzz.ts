import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openElf } from '@counterpoint/core/elf';
import { SymbolHash } from './symbol-hash.ts';

// A damaged table of symbols: nothing is thrown, nothing loops, nothing is read that is not there.

const FILES = ['/bin/ls', '/usr/bin/env'].filter(existsSync);
const MOST_READS = 10_000;
const SHT_GNU_HASH = 0x6ffffff6;

test('a damaged hash table of symbols', { skip: FILES.length === 0 }, async () => {
  let seed = 12345;
  const below = (limit: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % limit;
  };
  for (let round = 0; round < 3000; round++) {
    const bytes = new Uint8Array(readFileSync(FILES[round % FILES.length]!));
    const elf = await openElf(memorySource(bytes));
    const table = elf.sections.find(({ type }) => type === SHT_GNU_HASH);
    if (table === undefined) return;
    const view = new DataView(bytes.buffer);
    const values = [0, 1, 2, 0x7fffffff, 0xfffffffe, 0xffffffff, below(2 ** 24)];
    for (let n = 1 + below(6); n > 0; n--) {
      const at = table.offset + 4 * below(below(2) === 0 ? 4 : Math.floor(table.size / 4));
      if (at + 4 <= bytes.length) view.setUint32(at, values[below(values.length)]!, true);
    }
    if (below(3) === 0) Object.assign(table, { size: below(table.size), link: below(elf.sections.length) });
    let reads = 0;
    const hash = SymbolHash.open(elf, (offset, length) => {
      assert.ok(++reads < MOST_READS && length >= 0 && length < 1 << 16);
      return bytes.slice(Math.min(offset, bytes.length), Math.min(offset + length, bytes.length));
    });
    for (const name of ['malloc', 'exit', 'no_such_name', '__libc_start_main']) hash?.find(name);
  }
});
