/**
 * Suspended until resumed, on the real kernel: who notifies stops at that very overflow, and
 * nothing runs until the restart.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { recordSamples, noFormats as skip } from '../../../test/format-recording.ts';
import { type OwnRun, RARE_TRACEPOINT, runOwn } from '../../../test/format-runs.ts';
import { touchPages } from '../../../test/own-faults.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { type BpfMap, type BpfMapDefinition, indexKey, r7 } from '../../kernel/bpf/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import type { RecordOptions, RecordResult } from '../record/index.ts';
import type { SuspendedBy } from './format.ts';
import { defineFormat, type SamplingFormat } from './format.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const COUNTS: BpfMapDefinition = {
  name: 'counted',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 1,
};

function countedIn(map: BpfMap): number {
  return Number(new BigUint64Array(map.lookup(indexKey(0))!.buffer)[0]);
}

/** What the kernel has counted, by CPU. */
function countsOf({ sampled }: OwnRun): Map<number, number> {
  const words = new BigUint64Array(8);
  return new Map(
    sampled.events[0]!.instances.map(({ fd, cpu }) => {
      realSys.read(fd, new Uint8Array(words.buffer));
      return [cpu, Number(words[0])];
    }),
  );
}

/** Overflows that came while it was suspended, by CPU. */
function missedBy({ run }: OwnRun): Map<number, number> {
  const missed = run.finish().losses.filter(({ kind }) => kind === 'format-while-suspended');
  return new Map(missed.map(({ cpu, count }) => [cpu!, Number(count)]));
}

const base = { name: 'stopping', version: 1, summary: '', options: {} } as const;
const EVERY = 100;

interface Look {
  readonly by: SuspendedBy;
  readonly counted: readonly [before: number, after: number];
}

/** Counts, and suspends at every so many; at each restart it looks twice, with `between` in between. */
const stopping = (between: () => void, delayMs = 0) =>
  defineFormat({
    ...base,
    plan: () => ({ maps: [COUNTS], wake: { kind: 'every', count: EVERY }, suspend: true }),
    onOverflow: (asm) => asm.countInMap(COUNTS, 0),
    async *collect(_, { next, delay }): AsyncGenerator<Look> {
      while ((await next()) !== 'stopped') await delay(delayMs);
      yield* [];
    },
    onRestart(maps, { suspendedBy: by }): Look[] {
      const before = countedIn(maps.get('counted')!);
      between();
      return [{ by, counted: [before, countedIn(maps.get('counted')!)] }];
    },
  });

/** Read it while `work` goes on; then its end. */
async function during(own: OwnRun, work: (looks: readonly Look[]) => Promise<void>) {
  const looks: Look[] = [];
  const reading = (async () => {
    for await (const look of own.run.results()) looks.push(look as Look);
  })();
  own.sampled.enable();
  await work(looks);
  own.sampled.disable();
  own.run.stop();
  await reading;
  return looks;
}

/** So many times, with the counters resumed after the last. */
async function hasLooked(looks: readonly Look[], times: number): Promise<void> {
  for (let waits = 0; looks.length < times && waits < 1000; waits++) await sleep(20);
  await sleep(50);
}

test(
  'the counter stops at the overflow that notified, and counts on when it is resumed',
  {
    skip,
  },
  () =>
    onTime(async () => {
      let own: OwnRun | null = null;
      const kernelCounts: Map<number, number>[] = [];
      const missedCounts: Map<number, number>[] = [];
      const between = () => {
        missedCounts.push(missedBy(own!));
        kernelCounts.push(countsOf(own!));
        touchPages(500);
        kernelCounts.push(countsOf(own!));
      };
      own = runOwn(stopping(between, 30), 'faults:u');
      using _ = own;
      const looks = await during(own, async (soFar) => {
        for (let round = 1; round <= 3; round++) {
          touchPages(1000);
          await hasLooked(soFar, round);
        }
      });
      // Node's own faults while it waits may make one more.
      assert.ok(looks.length >= 3, `${looks.length} looks`);
      looks.forEach(({ by, counted: [before, after] }, round) => {
        const [first, second] = [kernelCounts[2 * round]!, kernelCounts[2 * round + 1]!];
        // A thread that moves to another CPU has another counter there, which only we stop.
        const missed = missedCounts[round]!.get(by.cpu!) ?? 0;
        assert.equal(
          (first.get(by.cpu!)! - missed) % EVERY,
          0,
          `${first.get(by.cpu!)} faults on CPU ${by.cpu}`,
        );
        assert.equal(missed, missedCounts[round - 1]?.get(by.cpu!) ?? 0, 'the kernel has not stopped it');
        assert.equal(by.event, 0);
        assert.deepEqual(second, first, 'counted while suspended');
        assert.equal(after, before, 'a handler ran while suspended');
        if (round > 0)
          assertOnTime(before >= looks[round - 1]!.counted[1] + EVERY, 'was not resumed so soon');
      });
      const { suspended, losses, overflows } = own.run.finish();
      assert.equal(suspended!.times, looks.length);
      // The delay, and the looks.
      assert.ok(suspended!.ns > 3n * 29_000_000n, `${suspended!.ns} ns`);
      assertOnTime(suspended!.ns < 2_000_000_000n, `${suspended!.ns} ns`);
      const lost = losses.find(({ kind }) => kind === 'format-suspended')!;
      assert.equal(lost.count, suspended!.ns);
      assert.equal(lost.fromNs, looks[0]!.by.sinceNs);
      assert.ok(lost.toNs! - lost.fromNs! >= suspended!.ns);
      const missed = [...missedBy(own).values()].reduce((sum, count) => sum + count, 0);
      assert.ok(Number(overflows[0]) >= looks.at(-1)!.counted[1] + missed);
    }),
);

test('on all CPUs: no handler runs between notification and restart, and what came meanwhile is counted', {
  skip,
}, async () => {
  let own: OwnRun | null = null;
  const busy = () => {
    const before = countsOf(own!);
    // Wall time: the kernel's time of the suspension is compared with it.
    for (const end = performance.now() + 20; performance.now() < end; );
    assert.deepEqual(countsOf(own!), before, 'counted while suspended');
  };
  own = runOwn(stopping(busy), 'cpu-clock', { period: 200_000n, task: -1 });
  using _ = own;
  const looks = await during(own, (soFar) => hasLooked(soFar, 3));
  assert.ok(looks.length >= 3, `${looks.length} times`);
  for (const { counted } of looks) assert.equal(counted[0], counted[1]);
  const { overflows, suspended } = own.run.finish();
  assert.ok(suspended!.times >= looks.length);
  const missed = [...missedBy(own).values()].reduce((sum, count) => sum + count, 0);
  assert.ok(Number(overflows[0]) >= looks.at(-1)!.counted[1] + missed);
  // 20 ms each, with nothing counted.
  assert.ok(suspended!.ns >= BigInt(looks.length) * 20_000_000n);
});

test('suspended to the end: the time counts, and collect has what is there', { skip }, async () => {
  const format = defineFormat({
    ...base,
    plan: () => ({ maps: [COUNTS], suspend: true }),
    onOverflow(asm, { notify }) {
      notify();
      asm.countInMap(COUNTS, 0);
    },
    async *collect(maps, { next, delay }) {
      assert.equal(await next(), 'notified');
      await delay(60_000);
      yield countedIn(maps.get('counted')!);
    },
    onRestart() {
      assert.fail('nothing is restarted');
    },
  });
  using own = runOwn(format, 'faults:u');
  const found: unknown[] = await during(own, async () => {
    touchPages(100);
    await sleep(100);
  });
  // What the handler wrote after it had notified is there.
  assert.deepEqual(found, [1]);
  const { suspended } = own.run.finish();
  assert.equal(suspended!.times, 1);
  assert.ok(suspended!.ns > 90_000_000n, `${suspended!.ns} ns`);
});

test('a command that is recorded: its results are the samples, and no record of the kernel is among them', {
  skip,
}, async () => {
  const format = defineFormat({
    ...base,
    plan: () => ({ maps: [COUNTS], suspend: true }),
    onOverflow(asm, { notify }) {
      asm.loadContext(r7, 'ip');
      asm.mapUpdate(COUNTS, 0, r7);
      notify();
    },
    async *collect(_, { next, delay }): AsyncGenerator<{ ip: bigint; cpu: number; timeNs: bigint }> {
      while ((await next()) !== 'stopped') await delay(20);
      yield* [];
    },
    onRestart: (maps, { suspendedBy: { cpu, sinceNs: timeNs } }) => [
      { ip: BigInt(countedIn(maps.get('counted')!)), cpu: cpu!, timeNs },
    ],
    *toSamples(result) {
      yield { event: 0, ...result, pid: 1, tid: 1, period: 1n };
    },
  });
  const { result, events } = await recordSamples({
    command: ['sh', '-c', 'i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done'],
    events: 'task-clock:u',
    period: 100_000,
    inherit: false,
    formats: [{ format: format as unknown as SamplingFormat }],
  });
  const { times, ns } = result.formats[0]!.suspended!;
  const { samples } = events.find(({ name }) => name === 'task-clock:u')!;
  assert.ok(samples.length >= 3, `${samples.length} samples`);
  assert.ok(times === samples.length || times === samples.length + 1, `${times} and ${samples.length}`);
  assert.ok(samples.every(({ pid, ip }) => pid === 1 && ip! > 0n));
  const apart = samples.slice(1).map(({ time }, index) => Number(time! - samples[index]!.time!));
  assert.ok(
    apart.every((between) => between >= 18e6),
    apart.join(' '),
  );
  const lost = result.loss.find(({ kind }) => kind === 'format-suspended')!;
  assert.equal(lost.count, String(ns));
});

test('a recording of whole CPUs, and a group, beside a format that does not suspend', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const suspendedOf = async (name: string, options: RecordOptions) => {
    // It goes on until the format was suspended and restarted twice, however long that takes.
    const told = join(folder, name);
    const command = ['sh', '-c', `until [ -e '${told}' ]; do :; done`];
    let restarts = 0;
    const count = () => {
      if (++restarts === 2) writeFileSync(told, '');
    };
    const format = stopping(count, 20) as unknown as SamplingFormat;
    const { result } = await recordSamples({
      ...options,
      command,
      period: 100_000,
      formats: [{ format }, 'histogram'],
      signal: AbortSignal.timeout(60_000),
    });
    const [own, histogram] = result.formats as [RecordResult['formats'][0], RecordResult['formats'][0]];
    // What ran while the one was suspended, the other has.
    assert.ok(histogram.overflows > own.overflows, `${histogram.overflows} beside ${own.overflows}`);
    assert.equal(histogram.suspended, null);
    return own.suspended!;
  };
  const wide = await suspendedOf('wide', { systemWide: true, events: 'cpu-clock' });
  assert.ok(wide.times >= 2, `${wide.times} times`);
  const group = await suspendedOf('group', { events: '{cpu-clock,task-clock}', inherit: false });
  assert.ok(group.times >= 2, `${group.times} times`);
});

test('what cannot be suspended is refused, with what to do', { skip }, async () => {
  const attempt = async (format: Partial<SamplingFormat>, events = 'task-clock', inherit = false) => {
    const whole = { ...base, plan: () => ({ suspend: true }), async *collect() {}, ...format };
    await recordSamples({
      command: ['true'],
      events,
      inherit,
      formats: [{ format: whole as SamplingFormat }],
    });
  };
  const onOverflow = () => {};
  const code = 'ERR_FORMAT_SUSPEND';
  await assert.rejects(attempt({}), { code, message: /no handler/ });
  await assert.rejects(attempt({ onOverflow }, 'task-clock', true), { code, message: /follows new threads/ });
  await assert.rejects(attempt({ onOverflow }, RARE_TRACEPOINT), { code, message: /on the tracepoint/ });
  await assert.rejects(attempt({ onOverflow: (asm) => asm.keepRecord() }), {
    code,
    message: /cannot keep records/,
  });
});
