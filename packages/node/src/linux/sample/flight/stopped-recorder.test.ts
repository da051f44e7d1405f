/** Recorders that get no CPU for a while: nothing is wrong afterwards, and what is lost is told. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { FlightProcess } from '../../../test/flight-process.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { assertSameHits, samplesOf } from '../../../test/recorded-samples.ts';
import { WaitingNode } from '../../../test/waiting-node.ts';
import { record } from '../record/index.ts';
import type { FlightDump } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'tracepoints and threads of others need root';
/** Of linux/time.h. */
const CLOCK_MONOTONIC = 1;
const KEEP_MS = 1500;

const lostNames = ({ loss }: Pick<FlightDump, 'loss'>) => loss.filter(({ kind }) => kind === 'ring-full');

test('what happened while the recorder was stopped is in the history', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  using target = new WaitingNode(
    `const { openSync, readSync } = require('node:fs'); const fd = openSync(process.execPath); const one = Buffer.alloc(1);
     for (let at = 0; at < 10000; at++) readSync(fd, one, 0, 1, at)`,
    { cpu: 0 },
  );
  const asked = {
    pids: [target.pid],
    events: 'syscalls:sys_enter_pread64',
    period: 1,
    callGraph: false,
    buildIds: false,
  };
  const whole = join(folder, 'whole.data');
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const recorded = record({
    ...asked,
    output: whole,
    mmapPages: 4096,
    clockId: CLOCK_MONOTONIC,
    onStart: begun,
  });
  await hasBegun;
  using recorder = await FlightProcess.start({ ...asked, directory: folder, memoryBytes: 1 << 18 });
  recorder.child.kill('SIGSTOP');
  await target.run();
  await sleep(1500);
  recorder.child.kill('SIGCONT');
  const dump = await recorder.dump();
  target.child.stdin!.write('end\n');
  assert.deepEqual((await recorded).loss, []);
  const [all, held] = [await samplesOf(whole), await samplesOf(dump.path)];
  assert.ok(held.length > 500 && held.length < 5000, `${held.length}`);
  assertSameHits(all, held);
});

/**
 * Changes its name until no ring has room any more, and then becomes another
 * program, with a child of its own.
 */
const RENAMER = `
import os, sys
print('up', flush=True)
sys.stdin.readline()
with open('/proc/self/comm', 'w', buffering=1) as name:
    for turn in range(70000):
        name.write('name%d\\n' % (turn % 7))
if os.fork() == 0:
    os.execv('/bin/sh', ['sh', '-c', 'while :; do :; done'])
print('forked', flush=True)
os.execv('/usr/bin/perl', ['perl', '-e', 'while (1) { $x++ }'])
`;

test('names that were lost while it was stopped are read again, and the files of that time say so', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const command = ['taskset', '-c', '1', 'python3', '-c', RENAMER];
  const target = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  t.after(() => process.kill(-target.pid!, 'SIGKILL'));
  await once(target.stdout, 'data');
  const asked = {
    pids: [target.pid!],
    events: 'cpu-clock',
    frequency: 999,
    keepMs: KEEP_MS,
    directory: folder,
  };
  using recorder = await FlightProcess.start(asked);
  recorder.child.kill('SIGSTOP');
  target.stdin.write('go\n');
  await once(target.stdout, 'data');
  await sleep(500);
  recorder.child.kill('SIGCONT');
  const first = await recorder.dump();
  let second = await recorder.dump();
  // As long as a file goes back to it, it has that loss.
  for (let tries = 0; lostNames(second).length > 0 && tries < 50; tries++) {
    await sleep(500);
    second = await recorder.dump();
  }

  const [lost] = lostNames(first);
  assert.ok(Number(lost?.count) > 1000 && lost!.cpu === 1, JSON.stringify(first.loss));
  assert.ok(BigInt(lost!.fromNs!) < BigInt(lost!.toNs!));
  // It is over, and so are its effects.
  assert.deepEqual(lostNames(second), []);
  for (const { path } of [first, second]) {
    await using recording = await openRecording(path);
    const told = (await recording.stats()).loss.filter(({ kind }) => kind === 'ring-full');
    assert.equal(told.length, path === first.path ? 1 : 0);
    const { rows } = topFunctions((await recording.profile()).profile, { sort: ['comm', 'dso'] });
    const share = (name: RegExp, file: RegExp) =>
      rows
        .filter(({ comm = '', dso = '' }) => name.test(comm) && file.test(dso))
        .reduce((sum, { percent }) => sum + percent, 0);
    const known = share(/^perl$/, /perl/) + share(/^sh$/, /sh$|libc/);
    // Of the first file, what ran while nobody was told may have another name.
    assert.ok(known > (path === first.path ? 50 : 90), JSON.stringify(rows));
    if (perfIsMissing() === false && path === second.path) {
      const names = perf('script', '-i', path, '-F', 'comm').trim().split(/\s+/);
      const others = names.filter((name) => name !== 'perl' && name !== 'sh');
      assert.ok(
        names.length > 100 && others.length === 0,
        `${others.length} of ${names.length}: ${others[0]}`,
      );
    }
  }
});
