/**
 * A recorder that runs for long at 10 kHz, with files and with processes that come and go: its memory does
 * not grow. By hand for half an hour: SOAK_SECONDS=1800.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FlightProcess, type Memory } from '../../../test/flight-process.ts';
import { temporaryFolder } from '../../../test/perf.ts';

const skip = process.getuid?.() === 0 ? false : 'processes of others need root';
const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 2);
/** Until all of the history is there and the code of it is compiled. */
const WARM_DUMPS = 4;
const KEEP_MS = 250;
const MIB = 2 ** 20;
const COUNTED_KINDS = new Set(['history-paused', 'history-overwritten', 'ring-full']);
/** Of the files that are put in order: at most all of the rings. */
const MOST_BUFFER_BYTES = 16 * MIB;

const inMib = ({ heapBytes, externalBytes, rssBytes }: Memory) =>
  `${(heapBytes / MIB).toFixed(1)} MiB of objects, ${(externalBytes / MIB).toFixed(1)} MiB of buffers, ${(rssBytes / MIB).toFixed(1)} MiB resident`;

test(`${SECONDS} s at 10 kHz`, { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const load = '(while :; do :; done) & while :; do /bin/true; done';
  const target = spawn('sh', ['-c', load], { stdio: 'ignore', detached: true });
  t.after(() => process.kill(-target.pid!, 'SIGKILL'));
  using recorder = await FlightProcess.start({
    pids: [target.pid!],
    events: 'cpu-clock',
    frequency: 10_000,
    keepMs: KEEP_MS,
    memoryBytes: MOST_BUFFER_BYTES,
    maxFiles: 2,
    directory: folder,
  });
  const descriptors = () => readdirSync(`/proc/${recorder.child.pid}/fd`).length;
  for (let dump = 0; dump < WARM_DUMPS; dump++) {
    await sleep(KEEP_MS);
    await recorder.dump();
  }
  const before = await recorder.memory();
  let middle = before;
  const open = descriptors();
  const began = performance.now();
  let dumps = 0;
  let all = 0;
  const lost = new Map<string, bigint>();
  // Wall time: so long it goes on at least.
  for (; performance.now() - began < SECONDS * 1000; dumps++) {
    await sleep(KEEP_MS);
    const { records, loss } = await recorder.dump();
    all += records;
    // Buffers are as large as the largest file so far.
    if (middle === before && performance.now() - began > (SECONDS * 1000) / 4)
      middle = await recorder.memory();
    // A machine that gives the recorder no time for a second loses records, and that is counted.
    for (const { kind, count } of loss) {
      assert.ok(COUNTED_KINDS.has(kind), JSON.stringify(loss));
      lost.set(kind, (lost.get(kind) ?? 0n) + BigInt(count ?? 0));
    }
  }
  const after = await recorder.memory();
  t.diagnostic(
    `${inMib(before)}; then ${inMib(middle)}; after ${SECONDS} s and ${dumps} files of ${all} records ${inMib(after)}; lost: ${[...lost].map(([kind, count]) => `${kind} ${count}`).join(', ') || 'nothing'}`,
  );
  assert.ok(all > 200 * dumps, `${all} records in ${dumps} files`);
  assert.ok(after.heapBytes - middle.heapBytes < 2 * MIB, `${inMib(middle)}; then ${inMib(after)}`);
  assert.ok(after.externalBytes - before.externalBytes < MOST_BUFFER_BYTES, inMib(after));
  assert.equal(descriptors(), open);
});
