/** Triggers that come much too often, on the real kernel. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realSys, type Sys } from '../../kernel/sys/index.ts';
import { type FlightDump, flight } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'tracepoints need root';
const CALLS = 100_000;
const HOUR_MS = 3_600_000;
/** Each thread makes its calls; children that come later are watched, too. */
const STORM = (calls: number) => `for (let i = 0; i < ${calls}; i++) process.ppid;`;

interface Storm {
  dumps: FlightDump[];
  suppressed: number;
  /** How often the recorder was woken, and how often rings stood still and went on. */
  wakeups: number;
  pauses: boolean[];
}

async function recordStorm(
  on: readonly string[],
  command: readonly string[],
  minIntervalMs: number,
): Promise<Storm> {
  const directory = mkdtempSync(join(tmpdir(), 'flight-storm-'));
  const storm: Storm = { dumps: [], suppressed: 0, wakeups: 0, pauses: [] };
  const sys: Sys = {
    ...realSys,
    watch: (fd, onReadable) =>
      realSys.watch(fd, () => {
        storm.wakeups++;
        onReadable();
      }),
    pauseOutput(fd, isPaused) {
      storm.pauses.push(isPaused);
      realSys.pauseOutput(fd, isPaused);
    },
  };
  try {
    const recorder = await flight({
      sys,
      command,
      events: 'cpu-clock',
      frequency: 1,
      buildIds: false,
      directory,
      on,
      minIntervalMs,
      onDump: (dump) => storm.dumps.push(dump),
    });
    await recorder.ended;
    storm.suppressed = recorder.status().suppressed;
    return storm;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const node = (script: string) => [process.execPath, '-e', script];
const GETPPID = 'event:syscalls:sys_enter_getppid';

test('of a storm every hit is counted, and the recorder is left in peace', { skip }, async () => {
  const storm = await recordStorm([GETPPID], node(STORM(CALLS)), HOUR_MS);
  assert.equal(storm.dumps.length, 1);
  assert.equal(storm.suppressed, CALLS - 1);
  // A ring has room for some 250 hits, and each wakes whoever waits. After the first few no hit does.
  assert.ok(storm.wakeups < 2000, `woken ${storm.wakeups} times`);
  assert.ok(storm.pauses.includes(true));
});

test('of threads and children, with a filter, and with a count of hits', { skip }, async () => {
  const child = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(STORM(10_000))}]);`;
  const all = await recordStorm([GETPPID], node(`${STORM(10_000)} ${child}`), HOUR_MS);
  assert.deepEqual([all.dumps.length, all.suppressed], [1, 20_000 - 1]);
  const none = await recordStorm(['field:syscalls:sys_exit_getppid:ret == -1'], node(STORM(CALLS)), HOUR_MS);
  assert.deepEqual([none.dumps.length, none.suppressed], [0, 0]);
  // Each CPU counts for itself, and so the program stays on one. So does each thread, and the
  // kernel exchanges the counters of two threads as it switches from one to the other: what is over
  // from whole hits is in several.
  const words = ['taskset', '-c', '0', ...node(STORM(CALLS))];
  const { dumps, suppressed } = await recordStorm([`${GETPPID}:10`], words, HOUR_MS);
  assert.equal(dumps.length, 1);
  assert.ok(suppressed < CALLS / 10 && suppressed > CALLS / 10 - 50, `${suppressed}`);
});

test('when the gate opens again, the next hit makes the next file', { skip }, async () => {
  // Wall time: that of the gate.
  const script = `const end = Date.now() + 1500; while (Date.now() < end) { ${STORM(100)} }`;
  const storm = await recordStorm([GETPPID], node(script), 300);
  assert.ok(storm.dumps.length >= 3 && storm.dumps.length <= 6, `${storm.dumps.length} files`);
  assert.ok(storm.suppressed > 1000);
  assert.equal(
    storm.dumps.every(({ number }, index) => number === index + 1),
    true,
  );
});

test('without a least interval there are no more files than can be written', { skip }, async () => {
  const storm = await recordStorm([GETPPID], node(STORM(CALLS)), 0);
  assert.ok(storm.dumps.length >= 2 && storm.dumps.length < 1000, `${storm.dumps.length} files`);
  assert.equal(storm.dumps.length + storm.suppressed, CALLS);
});

test('slow calls are counted, each of them', { skip }, async () => {
  const calls = 300;
  // uv_fs_open is called once for each openSync.
  const script = `const fs = require('node:fs'); for (let i = 0; i < ${calls}; i++) fs.closeSync(fs.openSync('/dev/null'));`;
  const storm = await recordStorm([`function:${process.execPath}:uv_fs_open>1us`], node(script), HOUR_MS);
  assert.equal(storm.dumps.length, 1);
  assert.ok(storm.suppressed >= calls - 1, `${storm.suppressed} held back`);
});

test('the end of the command by a crash has its file, though other triggers came just before', {
  skip,
}, async () => {
  const storm = await recordStorm([GETPPID, 'crash'], node(`${STORM(10)} process.abort()`), HOUR_MS);
  assert.equal(storm.dumps.length, 2);
  assert.match(storm.dumps[1]!.trigger, /^crash/);
});
