import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../../test/perf.ts';
import { sourceProgram } from '../../../test/sources.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const canRun =
  process.arch === 'x64' &&
  spawnSync('gcc', ['--version']).status === 0 &&
  spawnSync('setarch', ['-R', 'true']).status === 0;
const skip = canRun ? false : 'no gcc, no setarch -R, or not x86-64';
const timeout = 600_000;

interface Both {
  steps: number;
  instructions: number;
  code: number;
}

/**
 * One program by both, at the same addresses: code of the C library depends on
 * how the stack lies in its pages.
 */
function countTwice(t: TestContext, program: string, words: readonly string[]): { ours: Both; peer: Both } {
  const folder = temporaryFolder(t);
  const counter = join(folder, 'step-counter');
  const built = spawnSync('gcc', ['-O2', '-w', '-o', counter, path('../../../test/step-counter.c')], {
    encoding: 'utf8',
  });
  assert.equal(built.status, 0, built.stderr);
  const input = join(folder, 'input');
  writeFileSync(input, 'one and two and three and four and five\n'.repeat(20));
  const command = [program, ...words.map((word) => (word === 'INPUT' ? input : word))];
  const node = [
    process.execPath,
    ...sourceProgram('test/step-oracle-run.ts'),
    counter,
    join(folder, 'result'),
  ];
  const { stdout, stderr, status } = spawnSync('setarch', ['-R', ...node, ...command], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

for (const [program, ...words] of [['/usr/bin/true'], ['/usr/bin/gzip', '-1', '-c', 'INPUT']] as const)
  test(`what '${program}' executes is what a loop of ptrace calls in C counts`, { skip, timeout }, (t) => {
    const { ours, peer } = countTwice(t, program, words);
    assert.deepEqual(ours, peer);
    assert.ok(ours.instructions > 20_000, `${ours.instructions}`);
  });
