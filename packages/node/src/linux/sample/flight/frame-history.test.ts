/** Interpreted functions of a Node that was started without any flag, in files of the flight recorder. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '@counterpoint/core/abi';
import { LossLedger } from '@counterpoint/core/loss';
import { makeAttr } from '@counterpoint/core/records';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { realSys, type Sys } from '../../kernel/sys/index.ts';
import { FrameHistory } from './frame-history.ts';
import { type FlightDump, flight } from './index.ts';

const isRoot = process.getuid?.() === 0;
// Nothing is compiled: only frames say what runs.
const INTERPRETED = ['--no-opt', '--no-sparkplug'];
const SCRIPT = `
function innermost() { let sum = 0; for (let i = 0; i < 1e5; i++) sum = (sum * 31 + i) | 0; return sum; }
function caller() { return innermost(); }
console.log('ready');
for (;;) caller();`;
const LEAST_SAMPLES = 40;
/** Whatever the memory: for processes and maps. */
const DEFAULT_RING_BYTES = 2 << 20;

test('a Node without flags, attached: interpreted functions have their names, and perf reads the file', {
  skip: !isRoot || process.arch !== 'x64',
}, async (t) => {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const target = spawn(process.execPath, [...INTERPRETED, '-e', SCRIPT], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => target.kill('SIGKILL'));
  await once(target.stdout, 'data');
  await using recorder = await flight({
    pids: [target.pid!],
    events: 'cpu-clock:u,page-faults',
    frequency: 499,
    keepMs: 2000,
    directory: temporaryFolder(t),
  });
  // Who gets no CPU reads too late for names.
  const { dump, status } = await onTime(async () => {
    let dump: FlightDump;
    do {
      await new Promise((done) => setTimeout(done, 500));
      dump = await recorder.dump();
    } while (dump.samples < LEAST_SAMPLES);
    const status = recorder.status();
    await using recording = await openRecording(dump.path);
    const { profile } = await recording.profile();
    const stacks = Array.from({ length: profile.samples.length }, (_, row) =>
      javascriptStack(profile, profile.samples.stack.at(row)),
    );
    const named = stacks.filter((stack) => /caller,innermost$/.test(stack.join()));
    assertOnTime(named.length > 0.8 * stacks.length, `${named.length} of ${stacks.length}`);
    return { dump, status };
  });
  // Stacks were names by then: they are not in the file.
  assert.ok(dump.bytes < 200_000 + 1000 * dump.samples, `${dump.bytes} bytes`);
  const script = spawnSync('perf', ['script', '-i', dump.path, '-F', 'time'], { encoding: 'utf8' });
  if (script.status === 0) assert.equal(script.stdout.trim().split('\n').length, dump.samples);
  const { formatBytes, ringBytes, bytesPerSecond } = status;
  assert.ok(
    formatBytes > 0 && ringBytes > 1 << 20 && bytesPerSecond > 0,
    `${formatBytes}, ${ringBytes}, ${bytesPerSecond}`,
  );
});

test('rings for stacks take no more than half of the memory', {
  skip: !isRoot || process.arch !== 'x64',
}, async (t) => {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const target = spawn(process.execPath, ['-e', "console.log('ready'); setInterval(() => {}, 1e6)"], { env });
  t.after(() => target.kill('SIGKILL'));
  await once(target.stdout, 'data');
  const sizes = new Map<number, number>();
  const sys: Sys = {
    ...realSys,
    mmap(fd, sizeBytes) {
      sizes.set(fd.number, sizeBytes);
      return realSys.mmap(fd, sizeBytes);
    },
  };
  const memoryBytes = 16 << 20;
  const directory = temporaryFolder(t);
  // 32 MB of stacks a second and CPU.
  const options = { pids: [target.pid!], events: 'cpu-clock', frequency: 4000, directory };
  await using _recorder = await flight({ sys, memoryBytes, ...options });
  const all = [...sizes.values()].reduce((sum, one) => sum + one, 0);
  const page = realSys.pageSizeBytes();
  assert.ok(
    all <= Math.max(memoryBytes / 2, DEFAULT_RING_BYTES * sizes.size) + page * sizes.size,
    `${all} bytes`,
  );
  assert.ok(sizes.size > 0);
});

const attr = makeAttr({ sampleType: BigInt(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME) });
const event = { attr, instances: [], name: 'cpu-clock', isSideband: false } as unknown as SampledEvent;

/** `header | id | pid, tid | time`. */
const SAMPLE_BYTES = 32;
const TIME_AT = 24;

/** A history whose samples come at these times, some of them read long after. */
function historyOf(timesNs: readonly number[], memoryBytes: number, lateNs = 0) {
  let nowNs = 0;
  let named = 0;
  const inTime: boolean[] = [];
  const history = new FrameHistory({
    frames: {
      begin: (events) => [...events],
      rewrite(spans) {
        named++;
        return spans[0]!.slice();
      },
    },
    events: [event],
    nowNs: () => nowNs,
    memoryBytes,
  });
  for (const timeNs of timesNs) {
    const view = new DataView(new ArrayBuffer(SAMPLE_BYTES));
    view.setUint32(0, PERF_RECORD_SAMPLE, true);
    view.setUint16(6, SAMPLE_BYTES, true);
    view.setBigUint64(TIME_AT, BigInt(timeNs), true);
    nowNs = timeNs + lateNs;
    inTime.push(history.add(view, 0, SAMPLE_BYTES));
  }
  return { history, named, inTime };
}

test('samples come out in order of time, as far back as they are wanted', () => {
  const { history, named } = historyOf([30, 10, 20, 40], 1 << 20);
  const timesOf = (fromNs: number) => [...history.samplesSince(fromNs).records.times];
  assert.deepEqual(timesOf(0), [40, 30, 20, 10]);
  assert.deepEqual(timesOf(20), [40, 30, 20]);
  assert.equal(named, 4);
  history.forget(41);
  assert.deepEqual(timesOf(0), []);
  assert.equal(history.sizeBytes, 0);
});

test('the rate is that of the last seconds', () => {
  const times = Array.from({ length: 1000 }, (_, at) => at * 1e7);
  const { history } = historyOf(times, 1 << 20);
  // 100 samples a second.
  assert.equal(history.bytesPerSecond(1e10), 100 * SAMPLE_BYTES);
  assert.equal(history.bytesPerSecond(1e11), 0);
});

test('of more than there is memory for the oldest go, and the file says so', () => {
  const times = Array.from({ length: 10_000 }, (_, at) => at);
  const { history } = historyOf(times, 100_000);
  assert.ok(history.sizeBytes <= 100_000);
  const { records } = history.samplesSince(0);
  const oldest = records.times[records.count - 1]!;
  assert.equal(history.droppedToNs, oldest - 1);
  const ledger = new LossLedger();
  history.addLossesTo(ledger, 0);
  history.addLossesTo(ledger, oldest);
  assert.deepEqual(
    ledger.list().map(({ kind, count }) => [kind, count]),
    [['history-overwritten', `${oldest - 1}`]],
  );
});

test('samples that were read too late get no names: their functions may be others by now', () => {
  const { history, named, inTime } = historyOf([10, 20], 1 << 20, 1e9);
  assert.equal(named, 0);
  assert.deepEqual(inTime, [false, false]);
  assert.equal(history.samplesSince(0).records.count, 2);
});
