import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { counterpoint } from '../../../test/command-line.ts';
import { readStanding, realFiles } from '../probe/index.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import { readCpuIdentities } from './cpu-identity.ts';
import { checkCounters, currentCpu } from './examine-counters.ts';

// Counters free and taken, with real counters of which another process holds some.

const TOTAL = 7;

afterEach(() => assert.deepEqual(liveHandles(), []));

function examine() {
  const place = {
    files: realFiles,
    standing: readStanding(realSys, realFiles),
    cpu: currentCpu(realFiles),
    cpusOf: () => null,
  };
  return checkCounters(realSys, readCpuIdentities(), place);
}

function eventCount(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return realFiles
    .list(folder)
    .filter((fd) => realFiles.link(`${folder}/${fd}`) === 'anon_inode:[perf_event]').length;
}

/** perf with `count` events of the whole CPU, from when it has them open until the work is done. */
async function whileHeld(
  count: number,
  modifier: string,
  work: (holder: ChildProcess) => void | Promise<void>,
): Promise<void> {
  const events = Array.from({ length: count }, () => ['-e', `cycles${modifier}`]).flat();
  const holder = spawn('perf', ['stat', '-a', '-x,', '-o', '/tmp/held', ...events], { stdio: 'ignore' });
  try {
    for (let tries = 0; eventCount(holder.pid!) < count; tries++) {
      assert.ok(tries < 200, 'perf does not open its events');
      await pause(50);
    }
    // It enables them after it has opened them.
    await pause(300);
    await work(holder);
  } finally {
    holder.kill('SIGINT');
    await once(holder, 'exit');
  }
}

test('all are free', () => {
  const { state, facts, fix } = examine();
  assert.deepEqual([state, facts!['free'], facts!['taken'], fix], ['ok', TOTAL, 0, '']);
});

for (const held of [1, 3, TOTAL]) {
  test(`${held} that another process has pinned on the CPU are taken, and free afterwards`, async () => {
    await whileHeld(held, ':D', (holder) => {
      const { state, facts, fix, why } = examine();
      assert.deepEqual([facts!['free'], facts!['taken']], [TOTAL - held, held], why);
      assert.equal(state, held === TOTAL ? 'forbidden' : 'ok');
      assert.deepEqual(facts!['holders'], [`perf (${holder.pid})`]);
      assert.match(fix, /without pinned/);
    });
    assert.deepEqual([examine().facts!['free'], examine().facts!['taken']], [TOTAL, 0]);
  });
}

test('events that take turns hold none, and pinned ones of a whole CPU outlive the trial', async () => {
  await whileHeld(4, '', () => assert.equal(examine().facts!['free'], TOTAL));
  await whileHeld(2, ':D', () => assert.equal(examine().facts!['free'], TOTAL - 2));
  // perf says `<not counted>` of an event that lost its counter for good.
  const counts = (realFiles.read('/tmp/held') ?? '').split('\n').filter((line) => line.includes('cycles'));
  assert.equal(counts.length, 2);
  for (const line of counts) assert.match(line, /^\d+,,cycles:D/);
});

test('doctor says so', async () => {
  const { status, out } = await counterpoint('doctor', '-v');
  assert.equal(status, 0);
  assert.match(out, /^counters +ok +7 of 7 free now on CPU 0, for cycles/m);
  assert.match(out, /armv8_pmuv3\S* +the core: .*Cortex-A57.*general \(32 bits\)/);
  assert.match(out, /^reads in user space +forbidden .*perf_user_access is 0/m);
});
