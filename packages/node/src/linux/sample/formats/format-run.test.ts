import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordScan } from '@counterpoint/core/ring';
import { noFormats } from '../../../test/format-recording.ts';
import { hitRareTracepoint, runOwn } from '../../../test/format-runs.ts';
import { type BpfAssembler, type BpfMapDefinition, listPrograms, r0 } from '../../kernel/bpf/index.ts';
import type { EventRing } from '../../kernel/perf-events/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { defineFormat, type FormatSample } from './format.ts';
import { findFormat } from './registry.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';

/** Of all that runs, each millisecond of a CPU. */
const CLOCK = { period: 1_000_000n, task: -1 };

/** By the kernel's numbers: another recording has programs of the same names. Maps go with their programs. */
function leftOver(ids: readonly number[]): number[] {
  return listPrograms(realSys).flatMap(({ id }) => (ids.includes(id) ? [id] : []));
}

function samplesIn({ ring }: EventRing): number {
  const scan = new RecordScan([], () => {});
  ring.take();
  scan.scan(ring.memory.data, ring.tail, ring.head);
  return scan.samples;
}

/** On a CPU for so long, however many others want it. */
function busy(ms: number): void {
  for (const before = process.cpuUsage(); ; ) {
    const { user, system } = process.cpuUsage(before);
    if (user + system >= 1000 * ms) return;
  }
}

test('histogram: what it counts is what ran, and afterwards nothing is left', { skip }, async () => {
  const own = runOwn(await findFormat('histogram'), 'cpu-clock', CLOCK);
  const { run, sampled } = own;
  sampled.enable();
  busy(500);
  sampled.disable();
  run.stop();
  const buckets: FormatSample[] = [];
  for await (const table of run.results()) buckets.push(...run.samples(table));
  const { overflows, costNs, losses } = run.finish();
  const countOf = (some: readonly FormatSample[]) =>
    some.reduce((sum, { period }) => sum + period, 0n) / 1_000_000n;
  const samples = countOf(buckets);
  assert.equal(samples, overflows[0]);
  // A clock goes on where its timer is late, on idle CPUs above all: its count says
  // nothing of what was skipped.
  assert.deepEqual(losses, []);
  assert.ok(costNs !== null && costNs > 0 && costNs / Number(samples) < 100_000, `${costNs} ns`);
  const ownSamples = countOf(buckets.filter(({ pid }) => pid === process.pid));
  assert.ok(ownSamples > 50n, `${ownSamples} samples of this process in 500 ms on a CPU`);
  assert.ok(buckets.every(({ period }) => period > 0n && period % 1_000_000n === 0n));
  const ids = run.programIds;
  assert.equal(ids.length, 1);
  own[Symbol.dispose]();
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
    using own = runOwn(await findFormat(name), 'page-faults', { period: 3n });
    const { run, sampled } = own;
    sampled.enable();
    touchFreshMemory(80 << 20);
    sampled.disable();
    run.stop();
    let samples = 0;
    for await (const result of run.results())
      for (const { period } of run.samples(result)) samples += Number(period) / 3;
    const instances = sampled.events[0]!.instances;
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
  }
});

test('a wake rule and notify() wake collect, and the kernel record is kept where the handler says so', {
  skip,
}, async () => {
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
  using own = runOwn(format, 'cpu-clock', { ...CLOCK, keepsRecords: true });
  const { run, sampled } = own;
  const wakes: unknown[] = [];
  const reading = (async () => {
    for await (const wake of run.results()) wakes.push(wake);
  })();
  sampled.enable();
  await new Promise((resolve) => setTimeout(resolve, 600));
  sampled.disable();
  run.stop();
  await reading;
  const { overflows } = run.finish();
  assert.ok(wakes.every((wake) => wake === 'notified'));
  // Notifications that come while one is being dealt with are one.
  assert.ok(
    wakes.length >= 2 && wakes.length <= Number(overflows[0]) / every,
    `${wakes.length} of ${overflows[0]}`,
  );
  const [kept = 0, ...others] = sampled.rings.map(samplesIn);
  assert.ok(kept > 10, `${kept} records on CPU 0`);
  assert.ok(others.every((samples) => samples === 0));
});

test('time in which maps were read by system calls is in the ledger of a clock', { skip }, async () => {
  const numbers: BpfMapDefinition = {
    name: 'numbers',
    type: 'hash',
    keySizeBytes: 4,
    valueSizeBytes: 8,
    maxEntries: 1 << 16,
  };
  let readMs = 0;
  const format = defineFormat({
    name: 'reading',
    version: 1,
    summary: '',
    options: {},
    plan: () => ({ maps: [numbers] }),
    onOverflow: (asm) => asm.dropRecord(),
    async *collect(maps, { next }) {
      const map = maps.get('numbers')!;
      const key = new Uint8Array(4);
      for (let wake = 'interval'; wake !== 'stopped'; wake = await next(10)) {
        const startedAt = performance.now();
        for (let number = 0; number < 1000; number++) {
          new DataView(key.buffer).setUint32(0, number, true);
          map.update(key, new Uint8Array(8));
        }
        for (const _ of map.batches());
        readMs += performance.now() - startedAt;
      }
      yield;
      // Nothing runs any more that could be skipped.
      for (const _ of map.batches());
    },
  });
  using own = runOwn(format, 'cpu-clock', { period: 1_000_000n, task: -1 });
  const reading = (async () => {
    for await (const _ of own.run.results());
  })();
  own.sampled.enable();
  await new Promise((resolve) => setTimeout(resolve, 200));
  own.sampled.disable();
  own.run.stop();
  const before = own.run.finish().losses;
  await reading;
  const { losses } = own.run.finish();
  assert.deepEqual(losses, before);
  assert.equal(losses.length, 1);
  const { kind, event, count } = losses[0]!;
  assert.deepEqual([kind, event], ['format-map-read', 'cpu-clock']);
  assert.ok(Number(count) > 100_000 && Number(count) < readMs * 1e6, `${count} of ${readMs} ms`);
});

test('runs that the kernel left out because a program was running are counted by program', {
  skip: noFormats,
}, async () => {
  const print = (asm: BpfAssembler) => {
    const text = asm.stack('text', 8);
    asm.store(text, 0x78);
    asm.call('trace_printk', text, 8, 0);
  };
  const format = defineFormat({
    name: 'printing',
    version: 1,
    summary: '',
    options: {},
    ownEvents: [],
    plan: () => ({
      programs: [
        {
          name: 'prints',
          attach: { kind: 'tracepoint', system: 'syscalls', name: 'sys_enter_getpriority' },
          assemble(asm, { onlyTarget }) {
            onlyTarget();
            print(asm);
          },
        },
        // What it does would run it again.
        { name: 'echoes', attach: { kind: 'raw-tracepoint', name: 'bpf_trace_printk' }, assemble: print },
      ],
    }),
    async *collect() {},
  });
  using own = runOwn(format, 'dummy');
  const { run } = own;
  hitRareTracepoint([1, 1, 1, 1, 1]);
  run.stop();
  const { losses } = run.finish();
  assert.deepEqual(losses, [{ kind: 'format-recursion', event: 'echoes', count: 5 }]);
});
