import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_FORMAT_LOST } from '@counterpoint/core/abi';
import { openSampledEvents, planEvents, planOpen } from '../../../kernel/perf-events/index.ts';
import { FakeSys } from '../../../kernel/sys/fake-sys.ts';
import { resolveEvents } from '../../record/index.ts';
import { HeldHits } from './held-hits.ts';

const PLAN = {
  frequency: 1,
  period: 10n,
  isRateGiven: true,
  callchains: 'none',
  inherit: false,
  wholeCpus: true,
  enableOnExec: false,
  startsLater: false,
  levels: 'all',
} as const;

async function openOn(sys: FakeSys, cpus: readonly number[]) {
  const planned = planEvents(await resolveEvents(['page-faults']), PLAN).filter(
    ({ isSideband }) => !isSideband,
  );
  return openSampledEvents(sys, planOpen(planned, { tasks: [-1], cpus }, 2, 1));
}

test('what the kernel did not write is what it counts as lost, told once', async () => {
  const sys = new FakeSys();
  using sampled = await openOn(sys, [0, 1]);
  using held = new HeldHits(sys, sampled, 10n);
  const [first, second] = sampled.events[0]!.instances.map(({ fd }) => fd.number);
  assert.equal(held.takeCount(), 0);
  sys.readings.set(first!, [990n, 1n, 90n]);
  assert.equal(held.takeCount(), 90);
  assert.equal(held.takeCount(), 0);
  sys.readings.set(second!, [1000n, 2n, 7n]);
  assert.equal(held.takeCount(), 7);
});

test('kernels that do not count it: what the events counted, less what came', async () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => ((Number(attr.readFormat) & PERF_FORMAT_LOST) !== 0 ? 'EINVAL' : null);
  using sampled = await openOn(sys, [0, 1]);
  using held = new HeldHits(sys, sampled, 10n);
  const [first, second] = sampled.events[0]!.instances.map(({ fd }) => fd.number);
  // Ten to a hit, on each CPU: 3 and 2 whole ones.
  sys.readings.set(first!, [39n]);
  sys.readings.set(second!, [29n]);
  held.countSeen();
  assert.equal(held.takeCount(), 4);
  assert.equal(held.takeCount(), 0);
});

test('rings stand still while the gate is closed, each once, and go on by themselves', async () => {
  const sys = new FakeSys();
  using sampled = await openOn(sys, [0, 1]);
  using held = new HeldHits(sys, sampled, 10n);
  const pauses = () => sys.controls.filter((one) => one.startsWith('pauseOutput')).length;
  assert.equal(
    held.hold(() => 0),
    false,
  );
  assert.equal(pauses(), 0);
  const left = [3, 2, 0];
  assert.equal(
    held.hold(() => left.shift() ?? 0),
    true,
  );
  assert.equal(
    held.hold(() => 5),
    false,
  );
  assert.equal(pauses(), 2);
  for (let tries = 0; pauses() < 4 && tries < 200; tries++) await new Promise((done) => setTimeout(done, 5));
  assert.equal(pauses(), 4);
  assert.deepEqual(left, []);
});
