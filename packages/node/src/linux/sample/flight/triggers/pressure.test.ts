/** `psi:`: more programs than CPUs, and a machine that has room. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { openRecording } from '../../../../host/open/index.ts';
import { temporaryFolder } from '../../../../test/perf.ts';
import { until } from '../../../../test/until-told.ts';
import { type FlightDump, flight } from '../index.ts';

function whyNoPressure(): string | false {
  if (process.getuid?.() !== 0) return 'whole CPUs need root';
  try {
    readFileSync('/proc/pressure/cpu');
    return false;
  } catch {
    return 'this kernel has no /proc/pressure';
  }
}

const skip = whyNoPressure();

/** Some tasks that want all CPUs, in programs of this system, in one process group with their shell. */
function crowd(): ChildProcess {
  const several = Array.from(
    { length: 2 * availableParallelism() },
    () => 'timeout --foreground 100 sha1sum < /dev/zero &',
  ).join(' ');
  return spawn('sh', ['-c', `${several} wait`], { stdio: 'ignore', detached: true });
}

test('more tasks than CPUs are a file, which has them', { skip }, async (t) => {
  const dumps: FlightDump[] = [];
  await using recorder = await flight({
    systemWide: true,
    events: 'cpu-clock',
    frequency: 199,
    on: ['psi:cpu:60%:500ms', 'psi:memory:100%'],
    minIntervalMs: 0,
    buildIds: false,
    directory: temporaryFolder(t),
    onDump: (dump) => dumps.push(dump),
  });
  const work = crowd();
  t.after(() => process.kill(-work.pid!, 'SIGKILL'));
  const isCrowded = ({ trigger }: FlightDump) => /^psi:cpu:60%:500ms: \d+\.\d %$/.test(trigger);
  assert.ok(await until(() => dumps.some(isCrowded)), JSON.stringify(recorder.notes));
  // The share that it tells is over what was asked for.
  for (const { trigger } of dumps) assert.ok(Number(/ ([\d.]+) %$/.exec(trigger)![1]) >= 60, trigger);
  await using recording = await openRecording((await recorder.dump()).path);
  const { profile } = await recording.profile();
  const names = new Set(
    Array.from({ length: profile.threads.length }, (_, row) =>
      profile.strings.get(profile.threads.comm.at(row)),
    ),
  );
  assert.ok(names.has('sha1sum'), [...names].join(' '));
});

test('it tells of each rise once, and of no pressure nothing', { skip }, async (t) => {
  const dumps: FlightDump[] = [];
  const notes: string[] = [];
  const work = crowd();
  t.after(() => process.kill(-work.pid!, 'SIGKILL'));
  await using _recorder = await flight({
    systemWide: true,
    events: 'cpu-clock',
    frequency: 1,
    // As long as these tasks are there it is over the first share; nothing ever is over the second.
    on: ['psi:cpu:30%:200ms', 'psi:memory:100%:200ms'],
    minIntervalMs: 0,
    buildIds: false,
    directory: temporaryFolder(t),
    onDump: (dump) => dumps.push(dump),
    onNote: (all) => notes.push(all.at(-1)!.text),
  });
  await until(() => dumps.length > 0);
  await new Promise((done) => setTimeout(done, 1500));
  assert.equal(dumps.length, 1, dumps.map(({ trigger }) => trigger).join(', '));
  assert.deepEqual(
    notes.filter((text) => /psi/.test(text)),
    [],
  );
});
