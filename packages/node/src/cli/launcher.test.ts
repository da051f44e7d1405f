import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { generalHelp, verbHelp } from './help.ts';
import { helpTexts, VERBS } from './main.ts';

test('the build writes down the help of every verb', async () => {
  const texts = new Map(await helpTexts());
  assert.equal(texts.get('counterpoint'), generalHelp(VERBS));
  for (const { name, load } of VERBS) assert.equal(texts.get(name), verbHelp((await load()).default));
  assert.equal(texts.size, VERBS.length + 1);
});

test('the launcher shows help that is written down, and gives all else to Node', () => {
  const root = mkdtempSync(join(tmpdir(), 'counterpoint launcher-'));
  try {
    for (const folder of ['package/bin', 'package/dist/help', 'bin'])
      mkdirSync(join(root, folder), { recursive: true });
    copyFileSync(new URL('../../bin/counterpoint', import.meta.url), join(root, 'package/bin/counterpoint'));
    const program = 'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7;';
    writeFileSync(join(root, 'package/bin/counterpoint.js'), program);
    writeFileSync(join(root, 'package/dist/help/counterpoint.txt'), 'general\n');
    writeFileSync(join(root, 'package/dist/help/record.txt'), 'of record\n');
    symlinkSync('../package/bin/counterpoint', join(root, 'bin/counterpoint'));
    const run = (...words: string[]) => {
      const { stdout, status } = spawnSync(join(root, 'bin/counterpoint'), words, { encoding: 'utf8' });
      return [stdout, status];
    };
    for (const words of [['--help'], ['-h'], ['help']]) assert.deepEqual(run(...words), ['general\n', 0]);
    for (const words of [
      ['record', '--help'],
      ['record', '-h'],
      ['help', 'record'],
    ]) {
      assert.deepEqual(run(...words), ['of record\n', 0]);
    }
    for (const words of [
      ['recrod', '--help'],
      ['../help/record', '--help'],
      ['record', '--', 'a b', '--help'],
      [''],
    ]) {
      assert.deepEqual(run(...words), [`${JSON.stringify(words)}\n`, 7]);
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});
