/** The recorder's side of hardware traces against a kernel that is simulated, by random schedules. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { PERF_RECORD_AUXTRACE_INFO } from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { isRaw, SampleLayout } from '@counterpoint/core/records';
import { readPtInfo } from '@counterpoint/trace/intel-pt';
import { Random } from '../../../../../core/src/test/random.ts';
import { type AuxHistory, AuxKernel, ENDED, ON, STATE } from '../../../test/aux-kernel.ts';
import type { CpuOrder } from '../../../test/aux-kernel-worker.ts';
import {
  assertTraceIndex,
  checkFullTrace,
  PT_EVENT,
  readAreas,
  tracePackets,
} from '../../../test/aux-schedule.ts';
import { AuxSys, type SharedCpu } from '../../../test/aux-sys.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { startWorker } from '../../../test/worker.ts';
import { CAP_PERFMON } from '../../kernel/probe/index.ts';
import { type RecordControl, type RecordOptions, type RecordResult, record } from './index.ts';

const AREA_BYTES = 8192;
const WORKER = new URL('../../../test/aux-kernel-worker.ts', import.meta.url).href;

interface Schedule {
  seed: number;
  /** Once in so many moments, on average, the reader comes. */
  readerEvery: number;
  /** Most bytes of a piece. */
  pieceBytes: number;
  /** Once in so many, a piece takes all the room there is, and no more. */
  wholeEvery: number;
  source: Uint8Array;
}

function simulated(): AuxSys {
  const sys = new AuxSys();
  sys.capabilities = 1n << BigInt(CAP_PERFMON);
  return sys;
}

function orderFor(
  { event, isReadOnly }: SharedCpu,
  { seed, pieceBytes, wholeEvery, source }: Schedule,
): CpuOrder['options'] {
  const { cpu, id, attr } = event;
  return {
    seed,
    cpu,
    id,
    watermarkBytes: attr.auxWatermark,
    overwrites: isReadOnly,
    source,
    pieceBytes,
    wholeEvery,
  };
}

/** One thread plays both sides: the same seed gives the same interleaving. */
async function runStepwise(t: TestContext, schedule: Schedule) {
  const sys = simulated();
  const path = join(temporaryFolder(t), 'perf.data');
  const histories = new Map<number, AuxHistory>();
  const result = await record({
    pids: [process.pid],
    cpus: [0],
    events: [PT_EVENT],
    output: path,
    sys,
    mmapPages: 1,
    traceBytes: AREA_BYTES,
    flushIntervalMs: 0,
    onStart: () => {
      const [cpu] = sys.cpus as [SharedCpu];
      const kernel = new AuxKernel(cpu.ring, cpu.area!, cpu.control, {
        ...orderFor(cpu, schedule),
        layout: new SampleLayout(cpu.event.attr),
        // Whoever is woken comes later, as the schedule has it; the kernel wakes once.
        wake: () => {
          wakes++;
        },
        wait: (random) => {
          if (wakes > 0 && random.below(schedule.readerEvery) === 0) {
            wakes = 0;
            sys.wake();
            // Whatever the kernel decided before, the trace goes on after the reader was there.
            assert.equal(Atomics.load(cpu.control, STATE), ON);
          }
        },
      });
      let wakes = 0;
      try {
        while (kernel.step()) {
          // The source is what ends.
        }
      } finally {
        Atomics.store(cpu.control, ENDED, 1);
      }
      histories.set(cpu.event.cpu, kernel.history);
      sys.countLost(cpu, kernel.history.dropped.length);
      sys.wake(sys.events.map(({ fd }) => fd));
    },
  });
  return { result, path, histories };
}

/** Each CPU is a thread: who is first, the machine decides. */
async function runInThreads(
  t: TestContext,
  schedule: Schedule,
  cpus: number[],
  more: Partial<RecordOptions> = {},
) {
  const sys = simulated();
  const path = join(temporaryFolder(t), 'perf.data');
  const histories = new Map<number, AuxHistory>();
  const workers: Worker[] = [];
  const result = await record({
    pids: [process.pid],
    cpus,
    events: [PT_EVENT],
    output: path,
    sys,
    mmapPages: 1,
    traceBytes: AREA_BYTES,
    flushIntervalMs: 20,
    ...more,
    onStart: () => {
      for (const [at, cpu] of sys.cpus.entries()) {
        const worker = startWorker(WORKER);
        workers.push(worker);
        worker.on('message', (history: AuxHistory | null) => {
          if (history === null) sys.wake();
          else {
            histories.set(cpu.event.cpu, history);
            sys.countLost(cpu, history.dropped.length);
            if (histories.size === sys.cpus.length) sys.wake(sys.events.map(({ fd }) => fd));
          }
        });
        const options = orderFor(cpu, { ...schedule, seed: schedule.seed + at });
        const { ring, area, control, event } = cpu;
        worker.postMessage({ ring, area: area!, control, attr: event.attr, options } satisfies CpuOrder);
      }
    },
  });
  await Promise.all(workers.map((worker) => worker.terminate()));
  return { result, path, histories };
}

async function check(
  { result, path, histories }: { result: RecordResult; path: string; histories: Map<number, AuxHistory> },
  source: Uint8Array,
): Promise<void> {
  await assertTraceIndex(path);
  const areas = await readAreas(path);
  for (const [cpu, history] of histories)
    checkFullTrace(
      areas.get(cpu) ?? { pieces: [], records: [] },
      history,
      source,
      // Losses that only the events' counts tell of are of no one CPU.
      result.loss.filter((entry) => entry.cpu === cpu || histories.size === 1),
    );
  assert.equal(
    result.traceBytes,
    [...histories.values()].flatMap(({ kept }) => kept).reduce((sum, { from, to }) => sum + to - from, 0),
  );
}

test('sixty schedules, step by step: every byte is in the file once, or counted as lost', async (t) => {
  const source = await tracePackets(60_000, 7);
  const seen = { lost: 0, refused: 0, dropped: 0, paused: 0, whole: 0 };
  for (let seed = 1; seed <= 60; seed++) {
    const pieceBytes = [300, 3000, 12_000][seed % 3]!;
    const wholeEvery = seed % 2 === 0 ? 10 : 10_000;
    const schedule = { seed, source, readerEvery: 1 + (seed % 40), pieceBytes, wholeEvery };
    const run = await runStepwise(t, schedule);
    const [history] = [...run.histories.values()] as [AuxHistory];
    await check(run, source).catch((error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    });
    seen.lost += history.lost.length;
    seen.refused += history.refused;
    seen.dropped += history.dropped.length;
    seen.paused += history.paused;
    if (history.lost.length === 0) seen.whole++;
  }
  t.diagnostic(JSON.stringify(seen));
  // The schedules have what they are there for.
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, what);
});

test('CPUs that are threads, at any pace: the same', async (t) => {
  const source = await tracePackets(2_000_000, 9);
  const seed = Date.now() & 0xffff;
  t.diagnostic(`seed ${seed}`);
  const run = await runInThreads(t, { seed, source, readerEvery: 0, pieceBytes: 6000, wholeEvery: 10 }, [0]);
  await check(run, source);
  const [history] = [...run.histories.values()] as [AuxHistory];
  t.diagnostic(`${history.kept.length} stretches, ${history.lost.length} gaps`);
  assert.ok(history.kept.length > 10);
});

test('snapshots of a trace that is written over have the newest, at any moment, and the trace goes on', async (t) => {
  const source = await tracePackets(3_000_000, 11);
  const seed = Date.now() & 0xffff;
  t.diagnostic(`seed ${seed}`);
  let control = null as RecordControl | null;
  let hasEnded = false;
  const asked = (async () => {
    const random = new Random(seed);
    while (!hasEnded) {
      await setTimeout(random.below(60));
      if (!hasEnded) await control?.snapshot();
    }
  })();
  const schedule = { seed, source, readerEvery: 0, pieceBytes: 3000, wholeEvery: 10 };
  const { path, histories, result } = await runInThreads(t, schedule, [0], {
    traceSnapshots: 'and-at-end',
    mmapPages: 64,
    onControl: (given) => {
      control = given;
    },
    onStop: () => {
      hasEnded = true;
    },
  });
  hasEnded = true;
  await asked;
  const [history] = [...histories.values()] as [AuxHistory];
  const { pieces } = (await readAreas(path)).get(0)!;
  const traced = Buffer.concat(history.kept.map(({ from, to }) => source.subarray(from, to)));
  t.diagnostic(`${pieces.length} snapshots, ${history.stops.length} stops, of ${traced.length} bytes`);
  assert.ok(pieces.length > 3);
  // What was traced until each stop; the last snapshot is of the end.
  const ends = [...history.stops.map((stop) => tracedUntil(history, stop)), traced.length];
  let before = 0;
  for (const [at, { bytes }] of pieces.entries()) {
    const end = ends.find((one) => one >= before && isSuffix(bytes, traced.subarray(0, one)));
    assert.ok(end !== undefined, `snapshot ${at} is the end of what was traced until a stop`);
    assert.ok(bytes.length >= Math.min(end - before, AREA_BYTES), `snapshot ${at} has all that is new`);
    before = end;
  }
  assert.equal(before, traced.length);
  assert.equal(result.error, null);
  // Each of its records has PERF_AUX_FLAG_OVERWRITE: what a snapshot leaves out is not wanted.
  assert.ok(!result.loss.some(({ kind }) => kind === 'aux-overwritten'), JSON.stringify(result.loss));
});

function tracedUntil({ kept }: AuxHistory, position: number): number {
  return kept.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, position) - from), 0);
}

/** Without the zeros that make it whole words. */
function isSuffix(bytes: Uint8Array, all: Uint8Array): boolean {
  for (let padding = 0; padding < 8 && padding < bytes.length; padding++) {
    const size = bytes.length - padding;
    if (Buffer.compare(bytes.subarray(0, size), all.subarray(Math.max(0, all.length - size))) === 0)
      return true;
  }
  return false;
}

/** The target ends before anything was traced. */
function endAtOnce(sys: AuxSys): void {
  for (const { control } of sys.cpus) Atomics.store(control, ENDED, 1);
  sys.wake(sys.events.map(({ fd }) => fd));
}

test('a filter is set on each event of the trace, on no other, and the recording says it', async (t) => {
  const sys = simulated();
  const filter = 'filter 0x1000/0x20@/bin/true';
  const path = join(temporaryFolder(t), 'perf.data');
  const events = [{ ...PT_EVENT, filter }];
  await record({ pids: [process.pid], cpus: [0], events, output: path, sys, onStart: () => endAtOnce(sys) });
  const traced = sys.events.filter(({ attr }) => attr.type === PT_EVENT.attr.type).map(({ fd }) => fd);
  assert.ok(traced.length > 0 && sys.events.length > traced.length);
  assert.deepEqual(
    [...sys.filters],
    traced.map((fd) => [fd, filter]),
  );
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
  const said: string[] = [];
  for await (const { record: one } of readRecords(reader))
    if (!isRaw(one) && one.type === PERF_RECORD_AUXTRACE_INFO) said.push(readPtInfo(one.data).filter);
  assert.deepEqual(said, [filter]);
});

test('where little memory may be locked, areas are halved until they fit, and it is said', async (t) => {
  const sys = simulated();
  sys.lockableBytes = 64 * 1024;
  const { notes, traceBytes } = await record({
    pids: [process.pid],
    cpus: [0],
    events: [PT_EVENT],
    output: join(temporaryFolder(t), 'perf.data'),
    sys,
    onStart: () => {
      assert.equal(sys.cpus[0]!.area!.byteLength, 64 * 1024);
      endAtOnce(sys);
    },
  });
  assert.equal(traceBytes, 0);
  assert.match(notes.find(({ kind }) => kind === 'aux-smaller')?.text ?? '', /64 KiB .* instead of 4096 KiB/);
});
