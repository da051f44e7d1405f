/** What is left of a binary has the same symbols, lines and build id: asked of binutils, too. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { openElf, readBuildId, readSymbols, symbolsOnly } from './index.ts';

const skip = spawnSync('gcc', ['--version']).status === 0 ? false : 'gcc is not installed';

const tool = (name: string, ...words: string[]) =>
  execFileSync(name, words, { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'ignore'] });

async function reduced(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | null> {
  const pieces = await symbolsOnly(await openElf(memorySource(bytes)));
  return pieces === null ? null : new Uint8Array(Buffer.concat(pieces));
}

test('binutils find the same in it', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'symbols-only-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const source = join(folder, 'a.c');
  writeFileSync(
    source,
    'int work(int x) { return x * 3; }\nint data[50000] = {1};\nint main(void) { return work(1); }\n',
  );
  for (const flags of [['-g'], ['-g', '-gz'], ['-g', '-no-pie'], ['-s', '-rdynamic']]) {
    const program = join(folder, 'program');
    execFileSync('gcc', ['-O1', '-Wl,--build-id', ...flags, '-o', program, source]);
    const bytes = new Uint8Array(readFileSync(program));
    const small = (await reduced(bytes))!;
    assert.ok(small.length < bytes.length / 4, `${small.length} of ${bytes.length}`);
    const left = join(folder, 'left');
    writeFileSync(left, small);
    const [whole, elf] = await Promise.all([bytes, small].map((one) => openElf(memorySource(one))));
    assert.equal(await readBuildId(elf!), await readBuildId(whole!));
    assert.deepEqual(elf!.damage.list(), []);
    for (const name of ['symtab', 'dynsym'] as const)
      assert.equal(
        (await readSymbols(elf!, name))?.count,
        (await readSymbols(whole!, name))?.count,
        `${flags.join()} ${name}`,
      );
    const symbols = flags[0] === '-s' ? ['--dyn-syms'] : ['--syms', '--dyn-syms'];
    // Versions of symbols are not kept.
    const table = (path: string) =>
      tool('readelf', '-W', ...symbols, path).replaceAll(/@\w+\.\S+ \(\d+\)/g, '');
    assert.equal(table(left), table(program), flags.join());
    if (flags[0] !== '-s')
      assert.equal(
        tool('readelf', '--debug-dump=decodedline', left),
        tool('readelf', '--debug-dump=decodedline', program).replaceAll(program, left),
      );
  }
});

test('a damaged file gives nothing, or a file that can be opened', { skip }, async () => {
  const bytes = new Uint8Array(readFileSync(process.execPath).subarray(0, 1 << 16));
  for (let at = 16; at < 64; at++)
    for (const value of [0, 1, 0x7f, 0xff]) {
      const damaged = bytes.slice();
      damaged[at] = value;
      const small = await reduced(damaged);
      if (small !== null) await openElf(memorySource(small));
    }
});
