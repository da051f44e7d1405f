import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { noWholeCpus } from '../../../test/rights.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { onlineCpus } from '../../kernel/target/index.ts';
import { GlobalCounters } from './index.ts';

const cpus = onlineCpus();
const busy = (cpu: number) =>
  spawn('taskset', ['-c', String(cpu), '/bin/sh', '-c', 'while :; do :; done'], { stdio: 'ignore' });

test('each CPU has its own control and sums; all stop and start together', { skip: noWholeCpus }, () => {
  const before = liveHandles().length;
  const [first, last] = [cpus[0]!, cpus.at(-1)!];
  using counters = new GlobalCounters(cpus);
  counters.stop();
  counters.writeControl({ events: 'cs' });
  counters.writeControl({ events: 'faults,cpu-clock' }, [last]);
  if (first !== last) assert.deepEqual(counters.readControl(first)!.sets, [{ name: 'cs', events: 'cs' }]);
  assert.deepEqual(counters.readControl(last)!.sets, [
    { name: 'faults,cpu-clock', events: 'faults,cpu-clock' },
  ]);
  counters.start();
  assert.throws(() => counters.writeControl({ events: 'cs' }), { code: 'ERR_RUNNING' });
  spawnSync('taskset', ['-c', String(last), '/bin/ls', '-R', '/usr/share/doc'], { stdio: 'ignore' });
  const faults = () => counters.readCpu(last)!.sets[0]!.events[0]!.value;
  assert.ok(faults()! > 50n);
  counters.stop();
  const stopped = faults();
  spawnSync('taskset', ['-c', String(last), '/bin/ls', '-R', '/usr/share/doc'], { stdio: 'ignore' });
  assert.equal(faults(), stopped);
  assert.deepEqual(
    counters.read().sets.map(({ name }) => name),
    cpus.map((cpu) => (cpu === last ? `cpu ${cpu}: faults,cpu-clock` : `cpu ${cpu}: cs`)),
  );
  assert.throws(() => counters.readCpu(4095), { code: 'ERR_NO_CPU' });
  counters.close();
  counters.close();
  assert.equal(liveHandles().length, before);
});

test('with a sampling interval, sums stand still between samples', { skip: noWholeCpus }, async () => {
  const cpu = cpus.at(-1)!;
  const load = busy(cpu);
  try {
    using counters = new GlobalCounters([cpu]);
    counters.writeControl({ events: 'cpu-clock,faults' });
    const samples = counters.samples()[Symbol.asyncIterator]();
    counters.start({ samplingIntervalMs: 40 });
    const values: bigint[] = [];
    const times: bigint[] = [];
    for (let sample = 0; sample < 5; sample++) {
      const { value } = await samples.next();
      const clock = value!.byCpu.get(cpu)!.sets[0]!.events[0]!.value;
      values.push(clock);
      times.push(value!.timeNs);
      // Read at any time, it is what was sampled.
      assert.equal(counters.readCpu(cpu)!.sets[0]!.events[0]!.value, clock);
    }
    // A sample's time is taken after its sums were read, however long after: each was read between
    // the time of the one before it and its own. So what was counted from sample 1 to 4 is bounded
    // on a machine of any load.
    const counted = Number(values[4]! - values[1]!);
    const least = Number(times[3]! - times[1]!);
    const most = Number(times[4]! - times[0]!);
    assert.ok(counted > 0.98 * least && counted < 1.02 * most, `${counted} ns, of ${least} to ${most} ns`);
  } finally {
    load.kill();
  }
});

test('published, the page has every CPU', { skip: noWholeCpus }, async () => {
  using counters = new GlobalCounters(cpus);
  counters.writeControl({ events: 'cpu-clock' });
  counters.start({ samplingIntervalMs: 20 });
  using publication = await counters.publish({ name: 'all-cpus' });
  const { connect } = await import('./index.ts');
  using remote = await connect(publication.published.pid, 'all-cpus');
  assert.deepEqual(
    remote.sums().sums.map(({ set }) => set),
    cpus.map((cpu) => `cpu ${cpu}: cpu-clock`),
  );
  await remote.stop();
  assert.equal(counters.isRunning, false);
});

test('names are those of any CPU; without a control nothing starts', () => {
  const sys = new FakeSys();
  assert.throws(() => new GlobalCounters(cpus, { levels: 'foo' as never }, sys), { code: 'ERR_OPTION' });
  using counters = new GlobalCounters(cpus, {}, sys);
  assert.throws(() => counters.start(), { code: 'ERR_NO_EVENTS' });
  assert.throws(() => counters.update({ events: 'cs' }), { code: 'ERR_NO_EVENTS' });
  assert.equal(counters.isRunning, false);
  counters.writeControl({ events: 'cs' });
  counters.writeControl({ events: 'faults' }, [cpus[0]!]);
  counters.reset(['faults']);
  assert.throws(() => counters.reset(['fault']), { code: 'ERR_NO_EVENT', message: /did you mean faults/ });
});

test('an update is made on all CPUs or on none, and says what all of them need', () => {
  const sys = new FakeSys();
  using counters = new GlobalCounters(cpus, {}, sys);
  counters.writeControl({ events: 'cs' });
  counters.start();
  const opened = sys.events.length;
  sys.refuseOpen = () => (sys.events.length < opened + 3 * cpus.length - 1 ? null : 'EMFILE');
  assert.throws(() => counters.update({ events: 'faults,cs,migrations' }), {
    code: 'ERR_DESCRIPTOR_LIMIT',
    message: new RegExp(`\\b${3 * cpus.length}\\b`),
  });
  for (const { events } of counters.read().sets)
    assert.deepEqual(
      events.map(({ name }) => name),
      ['cs'],
    );
  assert.deepEqual(counters.control().sets, [{ name: 'cs', events: 'cs' }]);
  const closed = sys.closed.length;
  assert.equal(sys.events.length - opened, closed);
  sys.refuseOpen = () => null;
  counters.update({ events: 'faults' });
  assert.equal(counters.read().sets.length, cpus.length);
  for (const { events } of counters.read().sets) assert.equal(events[0]!.name, 'faults');
});

test('a control that cannot be opened leaves the CPUs with what they had', { skip: noWholeCpus }, () => {
  using counters = new GlobalCounters(cpus);
  counters.writeControl({ events: 'cs' });
  assert.throws(() => counters.writeControl({ events: 'no-such-event' }), { code: 'ERR_EVENT_SYNTAX' });
  assert.equal(counters.readControl(cpus[0]!)!.sets[0]!.events, 'cs');
  for (const samplingIntervalMs of [0, '5' as never])
    assert.throws(() => counters.start({ samplingIntervalMs }), { code: 'ERR_INTERVAL' });
  counters.start();
  assert.equal(counters.readCpu(cpus[0]!)!.sets[0]!.events[0]!.name, 'cs');
});
