/** Where there is no time to read the code of all processes, that is told, and the next time goes on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { InliningWatch } from './index.ts';

const PROCESSES = 3;
const SCRIPT = `
  const all = [];
  for (let i = 0; i < 4000; i++) all.push(new Function('x', 'let y = x + ' + i + '; for (let j = 0; j < 3; j++) y += j; return y'));
  for (let round = 0; round < 3; round++) for (const one of all) one(round);
  console.log('ready');
  setInterval(() => {}, 1e6);`;
const FLAGS = ['--perf-basic-prof', '--interpreted-frames-native-stack', '-e', SCRIPT];

test('code of some processes, in little time and in enough', async (t) => {
  const pids = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const child = spawn(process.execPath, FLAGS, { stdio: ['ignore', 'pipe', 'inherit'] });
      t.after(() => {
        child.kill('SIGKILL');
        rmSync(`/tmp/perf-${child.pid}.map`, { force: true });
      });
      await once(child.stdout, 'data');
      return child.pid!;
    }),
  );
  using watch = new InliningWatch(() => process.hrtime.bigint());
  await watch.prepare(pids);
  for (const pid of pids)
    watch.consider({
      pid,
      paths: [`/tmp/perf-${pid}.map`],
      uid: process.getuid!(),
      startMs: null,
      isNameless: false,
    });
  const missing = async (budgetMs: number) => (await watch.pack(budgetMs)).gaps;
  // The first look finds out which V8 it is.
  await missing(0);
  await new Promise(setImmediate);
  const gaps = await missing(0);
  assert.deepEqual(gaps.map(({ pid }) => pid).sort(), pids.sort());
  assert.match(gaps[0]!.text, /no time to read all of its code/);
  assert.deepEqual(await missing(60_000), []);
});
