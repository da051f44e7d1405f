/** The rings are emptied whatever the application's event loop does, and nothing is left where it ends. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData } from '@counterpoint/core/perfdata';
import { collectStats } from '@counterpoint/core/query';
import { noOwnFaults as noEvents } from '../../../test/own-faults.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { drainCode } from '../reader/drain-code.ts';
import { record } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-blocked-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));
const skip = drainCode(process.arch) === null ? `no code for ${process.arch}` : noEvents;

const TICKS_PER_SECOND = 100;
const PATIENCE_MS = 60_000;

/** CPU time of a process and its threads in seconds; proc_pid_stat(5), fields 14 and 15. */
function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Hold this thread, so that no callback of its event loop runs, until the process has worked for so long. */
function blockUntilWorked(pid: number, seconds: number): void {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  const end = performance.now() + PATIENCE_MS;
  // Wall time: how long it may take.
  while (cpuSeconds(pid) < seconds && performance.now() < end) Atomics.wait(nothing, 0, 0, 10);
}

test('an application whose event loop is blocked loses nothing, however much is written meanwhile', {
  skip,
}, async () => {
  const path = join(directory, 'blocked.data');
  const stop = new AbortController();
  const bufferBytes = 64 * 4096;
  const result = await record({
    command: ['sh', '-c', 'while :; do :; done'],
    events: 'cpu-clock:u',
    frequency: 5000,
    callGraph: true,
    mmapPages: 64,
    output: path,
    launch: { stdio: ['ignore', 'ignore', 'ignore'] },
    signal: stop.signal,
    onStart: ({ pid }) => {
      blockUntilWorked(pid!, 2);
      stop.abort();
    },
  });
  assert.equal(result.error, null);
  assert.deepEqual(
    result.loss.filter(({ kind }) => kind === 'ring-full' || kind === 'lost-samples'),
    [],
  );
  assert.ok(result.bytes > 2 * bufferBytes, `${result.bytes} bytes are no more than the buffers hold`);
  const stats = await collectStats(await openPerfData(memorySource(new Uint8Array(readFileSync(path)))));
  assert.equal(stats.samples, result.samples);
});

/** Record in a worker of a process of its own, and end the worker while it does. */
test('a worker that is terminated while it records leaves no thread, no descriptor and no ring', {
  skip,
}, () => {
  const source = (path: string) => JSON.stringify(join(import.meta.dirname, path));
  writeFileSync(
    join(directory, 'worker.mjs'),
    `import { parentPort } from 'node:worker_threads';
    (await import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})).register();
    const { record } = await import(${source('index.ts')});
    const output = ${JSON.stringify(join(directory, 'worker.data'))};
    record({ pids: [process.pid], events: 'cpu-clock:u', output, onStart: () => parentPort.postMessage('up') });`,
  );
  const script = `
    import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
    import { Worker } from 'node:worker_threads';
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const links = () => readdirSync('/proc/self/fd').map((fd) => {
      try { return readlinkSync('/proc/self/fd/' + fd); } catch { return ''; }
    });
    const left = () => ({
      threads: readdirSync('/proc/self/task').filter((tid) => {
        try { return readFileSync('/proc/self/task/' + tid + '/comm', 'utf8') === 'counterpoint\\n'; } catch { return false; }
      }).length,
      descriptors: links().filter((link) => /perf_event|worker\\.data/.test(link)).length,
      rings: readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('perf_event')).length,
    });
    const nothing = (found) => Object.values(found).every((count) => count === 0);
    const execArgv = ['--conditions=counterpoint-source'];
    const worker = new Worker(${JSON.stringify(join(directory, 'worker.mjs'))}, { execArgv });
    await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
    for (let i = 0; i < 500 && left().threads === 0; i++) await sleep(10);
    const during = left();
    await worker.terminate();
    for (let i = 0; i < 500 && !nothing(left()); i++) await sleep(10);
    console.log(JSON.stringify([during.threads, during.rings > 0, left()]));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
  });
  assert.equal(run.stderr, '');
  assert.deepEqual(JSON.parse(run.stdout), [1, true, { threads: 0, descriptors: 0, rings: 0 }]);
});
