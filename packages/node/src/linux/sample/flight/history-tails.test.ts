/**
 * A history of every hit is the end of what a recording without loss, made at the same time, has: record by
 * record, in all but time. The recordings are Counterpoint's own and perf's.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SampleRecord } from '@counterpoint/core/records';
import { perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { assertSameHits, byTime, factsOf, samplesOf, timeOf } from '../../../test/recorded-samples.ts';
import { hasEvents, until } from '../../../test/until-told.ts';
import { WaitingNode } from '../../../test/waiting-node.ts';
import { record } from '../record/index.ts';
import { type FlightDump, flight } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'tracepoints and probes need root';
const CALLS = 20_000;
/** Each call has another position, so that no two records of the tracepoint are alike. */
const READS = `const { openSync, readSync } = require('node:fs'); const fd = openSync(process.execPath); const one = Buffer.alloc(1);
  for (let at = 0; at < ${CALLS}; at++) readSync(fd, one, 0, 1, at)`;
const PREAD = 'syscalls:sys_enter_pread64';
/** Of linux/time.h: the clock of `flight`. */
const CLOCK_MONOTONIC = 1;
const RING_BYTES = 1 << 18;

interface Request {
  pids: number[];
  events: string;
  callGraph?: boolean;
}

/** Starts to record every hit; gives what waits for the end of it, when the targets have ended. */
type Recorder = (request: Request, output: string) => Promise<() => Promise<void>>;

const ownRecorder: Recorder = async (request, output) => {
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const options = { ...request, period: 1, clockId: CLOCK_MONOTONIC, mmapPages: 4096, buildIds: false };
  const recorded = record({ ...options, output, onStart: begun });
  await hasBegun;
  return async () => assert.deepEqual((await recorded).loss, []);
};

const perfRecorder: Recorder = async ({ pids, events, callGraph = false }, output) => {
  const words = ['record', '-q', '-c', '1', '-k', 'mono', '-m', '4096', '-e', events, '-o', output];
  const child = spawn('perf', [...words, ...(callGraph ? ['-g'] : []), '-p', pids.join(',')]);
  assert.ok(await until(() => isWatching(child.pid!)));
  return async () => {
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  };
};

/** It has opened its events, and waits for them. */
function isWatching(pid: number): boolean {
  return hasEvents(pid) && readFileSync(`/proc/${pid}/wchan`, 'utf8').includes('poll');
}

interface Both {
  /** The whole, and the history, each in order of time. */
  all: SampleRecord[];
  held: SampleRecord[];
  dump: FlightDump;
}

/** Run the targets while both watch, and the history is asked for at the end. */
async function watchedTwice(
  folder: string,
  targets: readonly WaitingNode[],
  request: Omit<Request, 'pids'>,
  recorder: Recorder,
): Promise<Both> {
  const asked = { callGraph: false, ...request, pids: targets.map(({ pid }) => pid) };
  const output = join(folder, 'whole.data');
  const wholeEnd = await recorder(asked, output);
  const history = await flight({
    ...asked,
    period: 1,
    buildIds: false,
    directory: folder,
    memoryBytes: RING_BYTES,
  });
  await Promise.all(targets.map((one) => one.run()));
  const dump = await history.dump('test');
  await history.stop();
  for (const one of targets) one.child.stdin!.write('end\n');
  await wholeEnd();
  const [all, held] = [await samplesOf(output), await samplesOf(dump.path)];
  return { all: all.sort(byTime), held, dump };
}

const CASES: { events: string; callGraph?: boolean; recorder: Recorder }[] = [
  { events: PREAD, recorder: ownRecorder },
  { events: PREAD, callGraph: true, recorder: perfRecorder },
  { events: `uprobe:${process.execPath}:uv_fs_read`, recorder: ownRecorder },
  { events: `uprobe:${process.execPath}:uv_fs_read`, callGraph: true, recorder: ownRecorder },
  { events: `uretprobe:${process.execPath}:uv_fs_read`, recorder: ownRecorder },
];

for (const { events, callGraph = false, recorder } of CASES) {
  const peer = recorder === perfRecorder ? 'perf' : 'record';
  const name = `${events.split(':')[0]}${callGraph ? ', with call chains' : ''}`;
  test(`a history is the end of what ${peer} has: ${name}`, {
    skip: skip || (recorder === perfRecorder && perfIsMissing()),
  }, async (t) => {
    using target = new WaitingNode(READS);
    const { all, held, dump } = await watchedTwice(
      temporaryFolder(t),
      [target],
      { events, callGraph },
      recorder,
    );
    assert.ok(all.length >= CALLS && all.length < CALLS + 100, `${all.length}`);
    // Two rings of 128 KiB, or one of a CPU that had it all: far fewer than all, and more than a few.
    assert.ok(held.length > 300 && held.length < CALLS / 2, `${held.length}`);
    const lost = dump.loss.filter(({ kind }) => kind === 'history-overwritten');
    assert.ok(lost.length > 0 && lost.length === dump.loss.length, JSON.stringify(dump.loss));
    // It may have changed the CPU: from then on both rings have all.
    const completeFrom = lost.reduce((latest, { toNs }) => Math.max(latest, Number(toNs)), 0);
    assertSameHits(
      all,
      held.filter((one) => Number(timeOf(one)) >= completeFrom),
    );
    const known = new Set(all.map(factsOf));
    assert.ok(held.every((one) => known.has(factsOf(one))));
  });
}

test('what the ledger does not tell of is there: two CPUs, one of which is busier', {
  skip,
}, async (t) => {
  using busy = new WaitingNode(READS, { cpu: 0 });
  using idle = new WaitingNode(READS.replace(`${CALLS}`, '1000'), { cpu: 1 });
  const { all, held, dump } = await watchedTwice(
    temporaryFolder(t),
    [busy, idle],
    { events: PREAD },
    ownRecorder,
  );
  const of = (records: readonly SampleRecord[], pid: number) =>
    records.filter(({ sample }) => sample.pid === pid);
  assert.deepEqual(held, held.toSorted(byTime));
  for (const { pid } of [busy, idle]) assertSameHits(of(all, pid), of(held, pid));
  // The ring of the idle CPU had room for all of it.
  assert.equal(of(held, idle.pid).length, of(all, idle.pid).length);
  assert.ok(of(held, busy.pid).length < of(all, busy.pid).length / 2);
  const lost = dump.loss.filter(({ kind }) => kind === 'history-overwritten');
  assert.deepEqual(
    lost.map(({ cpu }) => cpu),
    [0],
  );
  assert.equal(lost[0]!.toNs, `${timeOf(of(held, busy.pid)[0]!)}`);
});
