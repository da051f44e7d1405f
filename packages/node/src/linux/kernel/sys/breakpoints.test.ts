import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { perfIsMissing } from '../../../test/perf.ts';
import { breakpointsWork } from './breakpoints.ts';
import { FakeSys } from './fake-sys.ts';
import { realSys } from './index.ts';
import { SysError } from './sys-error.ts';

/** Data that a program writes five times, and perf watches. */
const PROGRAM = `
volatile long watched;
int main(void) { for (int i = 0; i < 5; i++) watched = i; return 0; }
`;

test('whether breakpoints do anything here is what perf finds', { skip: perfIsMissing() }, async (t) => {
  const { mkdtempSync, rmSync, writeFileSync } = await import('node:fs');
  const folder = mkdtempSync('/tmp/counterpoint-breakpoints-');
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(`${folder}/program.c`, PROGRAM);
  const built = spawnSync('gcc', ['-no-pie', '-o', `${folder}/program`, `${folder}/program.c`]);
  assert.equal(built.status, 0, String(built.stderr));
  const { stdout } = spawnSync('nm', [`${folder}/program`], { encoding: 'utf8' });
  const address = /^([0-9a-f]+) \w watched$/m.exec(stdout)![1]!;
  const words = ['stat', '-x;', '-e', `mem:0x${address}:w:u`, `${folder}/program`];
  const { stderr } = spawnSync('perf', words, { encoding: 'utf8' });
  const count = Number(/^(\d+);/m.exec(stderr)?.[1]);
  assert.ok(count === 0 || count === 5, stderr);
  assert.equal(breakpointsWork(realSys), count === 5);
});

test('who may not set one cannot tell', () => {
  const sys = new FakeSys();
  sys.perfEventOpen = () => {
    throw new SysError('perf_event_open', 28, {});
  };
  assert.equal(breakpointsWork(sys), null);
});
