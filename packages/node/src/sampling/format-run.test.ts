import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEvents } from '@counterpoint/core/events';
import { RecordScan } from '@counterpoint/core/ring';
import { listPrograms, r0 } from '../bpf/index.ts';
import { systemEventLookup } from '../pmu/index.ts';
import { openSession, planEvents, planOpen, type SessionRing } from '../session/index.ts';
import { realSys } from '../sys/index.ts';
import { onlineCpus } from '../target/index.ts';
import { defineFormat } from './format.ts';
import { checkFormatOptions } from './format-options.ts';
import { FormatRun } from './format-run.ts';
import type { HistogramBucket } from './formats/histogram.ts';
import { findFormat } from './registry.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';

function openClock(periodNs: bigint) {
  return openEvent('cpu-clock', periodNs, -1);
}

function openEvent(event: string, period: bigint, task: number) {
  const options = {
    frequency: 1000,
    period,
    isRateGiven: true,
    callchains: 'none',
    inherit: false,
    wholeCpus: task === -1,
    enableOnExec: false,
    startsLater: false,
    levels: 'all',
  } as const;
  const target = { tasks: [task], cpus: onlineCpus() };
  const planned = planEvents(parseEvents(event, systemEventLookup()), options);
  return { session: openSession(realSys, planOpen(planned, target, 8, 8), { notes: [] }), target };
}

/** By the kernel's numbers: another recording has programs of the same names. Maps go with their programs. */
function leftOver(ids: readonly number[]): number[] {
  return listPrograms(realSys).flatMap(({ id }) => (ids.includes(id) ? [id] : []));
}

function samplesIn({ ring }: SessionRing): number {
  const scan = new RecordScan([], () => {});
  ring.take();
  scan.scan(ring.memory.data, ring.tail, ring.head);
  return scan.samples;
}

function busy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('histogram: what it counts is what ran, and afterwards nothing is left', { skip }, async () => {
  const { session, target } = openClock(1_000_000n);
  const format = await findFormat('histogram');
  const run = FormatRun.open(realSys, {
    format,
    options: checkFormatOptions('histogram', format.options, {}),
    events: session.events.filter(({ isSideband }) => !isSideband),
    target: { kind: 'cpus', cpus: target.cpus, ids: [], inherits: false },
  });
  session.enable();
  busy(500);
  session.disable();
  run.stop();
  const buckets: HistogramBucket[] = [];
  for await (const bucket of run.results()) buckets.push(...(bucket as HistogramBucket[]));
  const { overflows, costNs, losses } = run.finish();
  const samples = buckets.reduce((sum, one) => sum + one.samples, 0n);
  assert.equal(samples, overflows[0]);
  assert.deepEqual(
    losses.filter(({ kind }) => kind !== 'format-skipped'),
    [],
  );
  assert.ok(costNs !== null && costNs > 0 && costNs / Number(samples) < 100_000, `${costNs} ns`);
  const own = buckets.filter(({ pid }) => pid === process.pid);
  const ownSamples = own.reduce((sum, one) => sum + one.samples, 0n);
  assert.ok(ownSamples > 50n, `${ownSamples} samples of this process in 500 ms`);
  assert.ok(buckets.every(({ samples, period }) => period === samples * 1_000_000n));
  const ids = run.programIds;
  assert.equal(ids.length, 1);
  run.close();
  session.close();
  // The kernel frees them a moment later.
  for (let tries = 0; leftOver(ids).length > 0 && tries < 50; tries++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(leftOver(ids), []);
});

/** Memory of an allocator may have been touched before: a mapping of its own has not. */
function touchFreshMemory(sizeBytes: number): void {
  const mapping = realSys.mapAnonymous(sizeBytes);
  new Uint8Array(mapping.buffer).fill(1);
  mapping.close();
}

test('what each format counts is what the kernel counted, to the last overflow', { skip }, async () => {
  for (const name of ['histogram', 'stacks', 'double-buffer']) {
    const { session, target } = openEvent('page-faults', 3n, process.pid);
    const format = await findFormat(name);
    using run = FormatRun.open(realSys, {
      format,
      options: checkFormatOptions(name, format.options, {}),
      events: session.events.filter(({ isSideband }) => !isSideband),
      target: { kind: 'threads', cpus: target.cpus, ids: target.tasks, inherits: false },
    });
    session.enable();
    touchFreshMemory(80 << 20);
    session.disable();
    run.stop();
    let samples = 0;
    for await (const result of run.results())
      for (const { period } of run.samples(result)) samples += Number(period) / 3;
    const instances = session.events[0]!.instances;
    // Each of them overflows at its own third fault.
    const counted = instances.map(({ fd }) => {
      const words = new BigUint64Array(8);
      realSys.read(fd, new Uint8Array(words.buffer));
      return Math.floor(Number(words[0]) / 3);
    });
    const expected = counted.reduce((sum, count) => sum + count, 0);
    assert.ok(expected > 1000, `${expected} overflows`);
    assert.equal(samples, expected, name);
    assert.deepEqual(run.finish().losses, []);
    session.close();
  }
});

test('a wake rule and notify() wake collect, and the kernel record is kept where the handler says so', {
  skip,
}, async () => {
  const { session, target } = openClock(1_000_000n);
  const every = 50;
  const format = defineFormat({
    name: 'waking',
    version: 1,
    summary: '',
    options: {},
    plan: () => ({ wake: { kind: 'every', count: every } }),
    onOverflow(asm) {
      asm.call('get_smp_processor_id');
      asm.if(r0, '==', 0, () => asm.keepRecord());
    },
    async *collect(_, { next }) {
      for (let wake = await next(5000); wake !== 'stopped'; wake = await next(5000)) yield wake;
    },
  });
  using run = FormatRun.open(realSys, {
    format,
    options: {},
    events: session.events.filter(({ isSideband }) => !isSideband),
    target: { kind: 'cpus', cpus: target.cpus, ids: [], inherits: false },
  });
  const wakes: unknown[] = [];
  const reading = (async () => {
    for await (const wake of run.results()) wakes.push(wake);
  })();
  session.enable();
  await new Promise((resolve) => setTimeout(resolve, 600));
  session.disable();
  run.stop();
  await reading;
  const { overflows } = run.finish();
  assert.ok(wakes.every((wake) => wake === 'notified'));
  // Notifications that come while one is being dealt with are one.
  assert.ok(
    wakes.length >= 2 && wakes.length <= Number(overflows[0]) / every,
    `${wakes.length} of ${overflows[0]}`,
  );
  const [kept = 0, ...others] = session.rings.map(samplesIn);
  assert.ok(kept > 10, `${kept} records on CPU 0`);
  assert.ok(others.every((samples) => samples === 0));
  session.close();
});
