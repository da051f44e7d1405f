/** Flight recorders on the real kernel. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import type { SampleRecord } from '@counterpoint/core/records';
import { openHistory } from '../../../host/history-files/index.ts';
import { openRecording } from '../../../host/open/index.ts';
import { factsOf, samplesOf } from '../../../test/recorded-samples.ts';
import { WaitingNode } from '../../../test/waiting-node.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { record } from '../record/index.ts';
import { type FlightDump, type FlightOptions, flight } from './index.ts';

const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'tracepoints need root';

/** A directory that is gone afterwards. */
function directory(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'flight-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const SHELL_LOOP = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done';
const quiet: Partial<FlightOptions> = { buildIds: false, callGraph: false };
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('rings get larger as the rate says, and nothing is lost on the way', { skip }, async () => {
  using place = directory();
  // 10,000 calls a second: a megabyte, which fills the first rings within the second.
  using target = new WaitingNode(
    'const all = Number(process.env.CALLS); let done = 0; while (done < all) { for (let i = 0; i < 500; i++) process.ppid; done += 500; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50); }',
    { env: { CALLS: '50000' } },
  );
  const whole = join(place.path, 'whole.data');
  const options = { pids: [target.pid], events: 'syscalls:sys_enter_getppid', period: 1 };
  const end = new AbortController();
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const recorded = record({ ...options, output: whole, mmapPages: 4096, signal: end.signal, onStart: begun });
  await hasBegun;
  const recorder = await flight({ ...quiet, ...options, directory: place.path, keepMs: 20_000 });
  const first = recorder.status().ringBytes;
  await target.run();
  const last = recorder.status();
  const dump = await recorder.dump('test');
  await recorder.stop();
  end.abort();
  assert.deepEqual((await recorded).loss, []);
  assert.ok(last.ringBytes >= 4 * first && last.ringBytes <= 64 << 20, `${first} to ${last.ringBytes}`);
  assert.ok(last.heldMs > 1000, `${last.heldMs}`);
  const all = (await samplesOf(whole)).map(factsOf);
  const held = (await samplesOf(dump.path)).map(factsOf);
  assert.equal(all.length, 50_000);
  assert.ok(held.length > 20_000, `${held.length}`);
  // What is there is the end of all there was; what is not was overwritten before
  // the rings grew, and is told.
  assert.deepEqual(held, all.slice(-held.length));
  const isTold = dump.loss.some(({ kind }) => kind === 'history-overwritten');
  assert.equal(isTold, held.length < all.length);
});

test('a full ring that goes back far enough lacks nothing', { skip: !isRoot }, async () => {
  using place = directory();
  await using recorder = await flight({
    ...quiet,
    command: ['timeout', '30', 'sh', '-c', 'while :; do :; done'],
    events: 'cpu-clock',
    frequency: 10_000,
    memoryBytes: 2 << 20,
    keepMs: 300,
    directory: place.path,
  });
  // 48 bytes each: a ring of 512 KiB or more is full after a second or two of one CPU.
  for (let tries = 0; ; tries++) {
    await pause(500);
    const { loss, records } = await recorder.dump();
    assert.deepEqual(
      loss.filter(({ kind }) => kind === 'history-overwritten'),
      [],
    );
    if (tries === 8) break;
    assert.ok(records > 0);
  }
});

test('what ran and has died has its names in a history, and perf reads it', { skip: !isRoot }, async () => {
  using place = directory();
  await using recorder = await flight({
    command: ['sh', '-c', `sh -c '${SHELL_LOOP}'; exec sleep 30`],
    events: 'cpu-clock',
    frequency: 2000,
    directory: place.path,
  });
  const dump = await dumpWhen(recorder, ({ records }) => records > 100);
  await using recording = await openRecording(dump.path);
  const rows = topFunctions((await recording.profile()).profile, { sort: ['comm', 'dso'] }).rows;
  assert.ok(
    rows.length > 0 && rows.every(({ dso = '[unknown]' }) => dso !== '[unknown]'),
    JSON.stringify(rows.slice(0, 5)),
  );
  assert.ok(rows.some(({ dso = '' }) => dso.endsWith('dash') || dso.endsWith('bash')));
  const { status, stdout } = spawnSync('perf', ['script', '-i', dump.path, '-F', 'comm,time,ip'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status === null) return;
  const own = (await samplesOf(dump.path)).length;
  assert.equal(stdout.split('\n').filter((line) => /^\S/.test(line)).length, own);
});

/** Ask until a file has what is wanted. */
async function dumpWhen(
  recorder: Awaited<ReturnType<typeof flight>>,
  isEnough: (dump: FlightDump) => boolean,
): Promise<FlightDump> {
  for (let tries = 0; ; tries++) {
    await pause(300);
    const dump = await recorder.dump('test');
    if (isEnough(dump)) return dump;
    assert.ok(
      tries < 50,
      JSON.stringify(dump, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    );
  }
}

test('files are kept by number and by size, the newest always', { skip: !isRoot }, async () => {
  using place = directory();
  const options = { command: ['sleep', '30'], ...quiet, directory: place.path };
  {
    await using recorder = await flight({ ...options, maxFiles: 3, prefix: 'few' });
    for (let number = 1; number <= 5; number++) {
      const { removed } = await recorder.dump(`trigger ${number}`);
      assert.equal(removed.length, number > 3 ? 1 : 0);
    }
    assert.equal(readdirSync(place.path).filter((name) => name.startsWith('few')).length, 3);
  }
  await using recorder = await flight({ ...options, maxFileBytes: 1, prefix: 'small' });
  await recorder.dump();
  const last = await recorder.dump();
  assert.deepEqual(
    readdirSync(place.path).filter((name) => name.startsWith('small')),
    [last.path.slice(place.path.length + 1)],
  );
});

test('it ends with its command or its target, and nothing is left open', { skip: !isRoot }, async () => {
  using place = directory();
  const before = liveHandles().length;
  const short = await flight({ command: ['sh', '-c', 'exit 7'], ...quiet, directory: place.path });
  assert.deepEqual(await short.ended, { reason: 'command-exited', exit: { code: 7, signal: null } });
  await assert.rejects(short.dump(), { code: 'ERR_FLIGHT_ENDED' });
  const child = spawn('sleep', ['30']);
  const attached = await flight({ pids: [child.pid!], ...quiet, directory: place.path });
  child.kill();
  assert.equal((await attached.ended).reason, 'target-ended');
  const stopped = await flight({ command: ['sleep', '30'], ...quiet, directory: place.path });
  const asked = stopped.dump('before the end');
  assert.equal((await stopped.stop()).exit?.signal, 'SIGTERM');
  assert.ok(existsSync((await asked).path));
  await assert.rejects(flight({ pids: [2 ** 30], directory: place.path }), { code: 'ERR_NO_PROCESS' });
  assert.equal(liveHandles().length, before);
});

test('a disk that is full in the middle of a file: the earlier ones stay whole, and no half is left', {
  skip: !isRoot,
}, async (t) => {
  using place = directory();
  const small = join(place.path, 'small');
  mkdirSync(small);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400k', 'none', small]).status !== 0)
    return t.skip('no tmpfs can be mounted');
  try {
    const failed: string[] = [];
    await using recorder = await flight({
      command: ['timeout', '30', 'sh', '-c', 'while :; do :; done'],
      events: 'cpu-clock',
      frequency: 5000,
      buildIds: false,
      directory: small,
      on: ['every:100ms'],
      minIntervalMs: 0,
      onDumpError: (error, trigger) => failed.push(`${trigger} ${error.message}`),
    });
    for (let tries = 0; failed.length < 2; tries++) {
      await pause(100);
      assert.ok(
        tries < 300,
        JSON.stringify(recorder.status(), (_, value) => String(value)),
      );
    }
    assert.match(failed[0]!, /^every:100ms .*cannot write \S+small\/flight-[\d.-]+data: no space left/);
    const files = readdirSync(small).filter((name) => name.endsWith('.data'));
    // What could not be written whole is not there. A file without samples may be: two triggers come at
    // once where the recorder had to wait for its CPU.
    let samples = 0;
    for (const name of files) {
      await using recording = await openRecording(join(small, name));
      const { samples: count, loss } = await recording.stats();
      samples += count;
      assert.ok(!loss.some(({ kind }) => kind === 'file-truncated'), name);
    }
    assert.ok(samples > 0, files.join());
    // Once there is room again, files come again. The other trigger fills it meanwhile.
    let dump: FlightDump | undefined;
    for (let tries = 0; dump === undefined; tries++) {
      assert.ok(tries < 100);
      for (const name of readdirSync(small)) rmSync(join(small, name), { force: true });
      dump = await recorder.dump('room again').catch(() => undefined);
    }
    assert.ok(dump.bytes > 0);
  } finally {
    spawnSync('umount', ['-l', small]);
  }
});

test('a file that cannot be written is an error, and the next one can be', { skip: !isRoot }, async () => {
  using place = directory();
  const inside = join(place.path, 'inside');
  await using recorder = await flight({ command: ['sleep', '30'], ...quiet, directory: inside });
  rmSync(inside, { recursive: true });
  writeFileSync(inside, 'a file in the place of the directory');
  await assert.rejects(recorder.dump());
  rmSync(inside);
  await assert.rejects(recorder.dump(), { code: 'ERR_WRITE' });
});

test('files of fixed-size records count on from one to the next', async () => {
  using place = directory();
  const recorder = await flight({
    ...quiet,
    command: ['sh', '-c', `${SHELL_LOOP}; ${SHELL_LOOP}`],
    events: 'cpu-clock:u',
    frequency: 2000,
    directory: place.path,
    fixedSize: true,
    keepMs: 200,
  });
  await pause(300);
  const dumps = [await recorder.dump('one'), await recorder.dump('two')];
  await recorder.stop();
  assert.deepEqual(
    readdirSync(place.path).map((name) => name.replace(/.*-/, '')),
    ['1.history', '2.history'],
  );
  let next = 0;
  for (const { path } of dumps) {
    const history = await openHistory(path);
    assert.ok(history.count > 5, `${history.count} samples`);
    assert.deepEqual([history.firstSequence, history.damage], [next, []]);
    next += history.count;
    const expected = await samplesOf(path);
    assert.equal(expected.length, history.count);
    const { record: last } = (await history.at(history.count - 1))!;
    assert.equal(factsOf(last as SampleRecord), factsOf(expected.at(-1)!));
    await history.close();
  }
});

test('every so often a file, however near to others', { skip }, async () => {
  using place = directory();
  const triggers: string[] = [];
  await using recorder = await flight({
    command: ['timeout', '30', 'sh', '-c', 'while :; do :; done'],
    events: 'cpu-clock',
    frequency: 99,
    buildIds: false,
    directory: place.path,
    prefix: 'every',
    on: ['every:100ms', 'event:page-faults'],
    minIntervalMs: 3_600_000,
    onDump: ({ trigger }) => triggers.push(trigger),
  });
  for (let tries = 0; triggers.filter((text) => text === 'every:100ms').length < 3; tries++) {
    await pause(100);
    assert.ok(tries < 300, triggers.join());
  }
  // What happens comes through, too: once, in an hour.
  assert.equal(triggers.filter((text) => text === 'event:page-faults').length, 1);
  assert.ok(recorder.status().dumps >= 4);
});
