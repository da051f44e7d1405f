import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launchDirectories } from './launch-directories.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-launch-directories-'));
after(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'sub'));
mkdirSync(join(folder, 'a b'));
const of = (...command: string[]) => launchDirectories(`/bin/${command[0]}`, command, folder);

for (const [command, expected] of [
  [['sh', '-c', 'node x.js'], []],
  [['sh', '-c', 'echo abcd /x; node --cd=3 x.js'], []],
  [['sh', '-c', 'cd /proc; node x.js'], ['/proc']],
  [
    ['sh', '-c', `(cd '/proc' && cd 1) && cd "/sys" && node x.js`],
    ['/proc', '/proc/1', '/sys'],
  ],
  [
    ['sh', '-c', 'cd "$HOME" && cd - && cd ~'],
    [null, null, null],
  ],
  [['make', '-C', 'sub', 'all'], [join(folder, 'sub')]],
  [['npm', '--prefix=/sys', 'run', 'y'], ['/sys']],
  // It is made first, where its parent can be written.
  [['sh', '-c', 'mkdir -p new/er; cd new/er; node x.js'], [folder]],
  [['sh', '-c', 'grep -C 3 x y; node x.js'], [folder]],
  [['env', '--chdir=/proc', 'node', 'x.js'], ['/proc']],
  [['sh', '-c', `cd 'a b' && node x.js`], [join(folder, 'a b')]],
] as const)
  test(`${command.join(' ')}: ${expected.join(' ')}`, () => {
    assert.deepEqual(of(...command), expected);
  });

test('scripts of a shell are read', () => {
  writeFileSync(join(folder, 'run'), '#!/bin/bash -e\ncd /proc/1\nnode x.js\n');
  writeFileSync(join(folder, 'x.js'), 'cd /not');
  assert.deepEqual(of('bash', 'run', 'x.js'), ['/proc/1']);
  assert.deepEqual(launchDirectories(join(folder, 'run'), ['./run'], folder), ['/proc/1']);
});
