import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { liveHandles } from '../../kernel/sys/index.ts';
import { GlobalCounters, openCounting } from './index.ts';

// Two CPUs with counters of their own.

afterEach(() => assert.deepEqual(liveHandles(), []));

const online = (cpu: number, is: boolean) =>
  writeFileSync(`/sys/devices/system/cpu/cpu${cpu}/online`, is ? '1' : '0');

async function whileBusy(cpu: number, work: () => Promise<void>): Promise<void> {
  const load = spawn('taskset', ['-c', String(cpu), '/bin/busybox', 'sh', '-c', 'while :; do :; done'], {
    stdio: 'ignore',
  });
  try {
    await sleep(200);
    await work();
  } finally {
    load.kill('SIGKILL');
    await once(load, 'exit');
  }
}

test('cycles are counted on the CPU that runs', async () => {
  await whileBusy(1, async () => {
    using counters = new GlobalCounters();
    counters.writeControl({ events: 'cycles:u' });
    counters.start();
    await sleep(400);
    counters.stop();
    const [idle, busy] = [0, 1].map((cpu) => Number(counters.readCpu(cpu)!.sets[0]!.events[0]!.value));
    assert.ok(busy! > 3 * idle!, `CPU 0 ${idle}, CPU 1 ${busy}`);
  });
});

test('a CPU that goes offline leaves what it counted', async () => {
  using session = openCounting({ target: { kind: 'cpus' }, events: 'cycles' });
  session.start();
  await sleep(100);
  const before = session.read().sets[0]!.events[0]!;
  assert.equal(before.places.length, 2);
  online(1, false);
  try {
    await sleep(100);
    const after = session.read().sets[0]!.events[0]!;
    assert.ok(after.value! > before.value!);
    assert.ok(after.places[1]!.value >= before.places[1]!.value);
    assert.equal(after.status, 'counted');
    assert.deepEqual(
      session.notes.map(({ kind, text }) => [kind, /^CPU 1 went offline/.test(text)]),
      [['cpu-gone', true]],
    );
    assert.throws(() => openCounting({ target: { kind: 'cpus', cpus: [0, 1] }, events: 'cycles' }), {
      code: 'ERR_NO_CPU',
    });
    using rest = openCounting({ target: { kind: 'cpus' }, events: 'cycles' });
    assert.equal(rest.read().sets[0]!.events[0]!.places.length, 1);
  } finally {
    online(1, true);
  }
});
