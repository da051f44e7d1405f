import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launchDirectories } from './launch-directories.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-launch-directories-'));
after(() => rmSync(folder, { recursive: true }));
const of = (...command: string[]) => launchDirectories(`/bin/${command[0]}`, command, folder);

for (const [command, expected] of [
  [['sh', '-c', 'node x.js'], []],
  [['sh', '-c', 'echo abcd /x; node --cd=3 x.js'], []],
  [['sh', '-c', 'cd /proc; node x.js'], ['/proc']],
  [
    ['sh', '-c', `(cd '/a b' && cd c) && cd "/d" && node x.js`],
    ['/a b', '/a b/c', '/d'],
  ],
  [
    ['sh', '-c', 'cd "$HOME" && cd - && cd ~'],
    [null, null, null],
  ],
  [['make', '-C', 'sub', 'all'], [join(folder, 'sub')]],
  [['npm', '--prefix=/x', 'run', 'y'], ['/x']],
  [['env', '--chdir=/proc', 'node', 'x.js'], ['/proc']],
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
