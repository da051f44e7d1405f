import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../../test/until-told.ts';
import { processImage, readProc, readProcLink } from '../../kernel/target/index.ts';
import { InliningWatch } from '../v8/index.ts';
import { PerfMapKeeper } from './perf-maps.ts';

const HOT =
  'function hot(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; } setInterval(() => hot(1e6), 5);';

test('a process that was met before its exec is what it runs now: without flags, its names are in its memory', async (t) => {
  // Between fork and exec a child has the environment and the memory of what starts it.
  const shell = 'read line; exec env -u NODE_OPTIONS "$NODE" -e "$HOT"';
  const env = { ...process.env, NODE_OPTIONS: '--perf-basic-prof', NODE: process.execPath, HOT };
  const child = spawn('/bin/sh', ['-c', shell], { env, stdio: ['pipe', 'ignore', 'inherit'] });
  const pid = child.pid!;
  t.after(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    rmSync(`/tmp/perf-${pid}.map`, { force: true });
  });
  using watch = new InliningWatch(null);
  using keeper = new PerfMapKeeper('/tmp', watch);
  await keeper.prepare([process.pid]);
  assert.ok(await until(() => readFileSync(`/proc/${pid}/environ`, 'utf8').includes('--perf-basic-prof')));
  keeper.consider(pid);
  assert.equal(watch.mapOf(pid), null);
  child.stdin.write('go\n');
  assert.ok(await until(() => readProcLink(`${pid}/exe`) === process.execPath));
  const names = () => {
    keeper.considerMaker(pid);
    const map = watch.mapOf(pid);
    return map === null ? '' : new TextDecoder().decode(map);
  };
  assert.ok(await until(() => / JS:\*hot /.test(names())));
  // Met again, it is the same: nothing is read anew.
  assert.match(names(), / JS:\*hot /);
});

test('a process that has ended runs no other program, also where nobody has waited for it', async (t) => {
  const parent = spawn('/bin/sh', ['-c', 'true & exec sleep 1000'], { stdio: 'ignore' });
  t.after(() => parent.kill('SIGKILL'));
  const child = () => readProc(`${parent.pid}/task/${parent.pid}/children`)?.trim() ?? '';
  assert.ok(await until(() => child() !== '' && / Z /.test(readProc(`${child()}/stat`) ?? '')));
  assert.equal(processImage(Number(child())), null);
  assert.match(processImage(parent.pid!) ?? '', /^\d{5,} /);
});
