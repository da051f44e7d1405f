import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { noOwnFaults as noEvents } from '../../../test/own-faults.ts';
import { SPIN_CPU_SOURCE } from '../../../test/until-told.ts';

/** What is left of a worker thread's counters, closed or not: seen in a process of its own. */
function runWorkers(workerCode: string, mainCode: string) {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-worker-'));
  const source = (path: string) => JSON.stringify(join(import.meta.dirname, path));
  try {
    writeFileSync(
      join(folder, 'worker.mjs'),
      `import { parentPort } from 'node:worker_threads';
      (await import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})).register();
      const { openCounting } = await import(${source('index.ts')});
      const { counters, measure } = await import(${source('../self-monitoring/index.ts')});
      ${workerCode}`,
    );
    const script = `
      import { readdirSync, readlinkSync } from 'node:fs';
      import { Worker } from 'node:worker_threads';
      const execArgv = ['--conditions=counterpoint-source'];
      const start = () => new Worker(${JSON.stringify(join(folder, 'worker.mjs'))}, { execArgv });
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const perfDescriptors = () => readdirSync('/proc/self/fd').filter((fd) => {
        try { return readlinkSync('/proc/self/fd/' + fd).includes('perf_event'); } catch { return false; }
      }).length;
      ${mainCode}`;
    const flags = ['--input-type=module', '-e', script];
    return spawnSync(process.execPath, flags, { encoding: 'utf8', timeout: 30_000 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a worker closes its counters without a warning', { skip: noEvents }, () => {
  const run = runWorkers(
    `measure(() => 1, 'faults:u');
    counters('faults:u').close();
    const overflows = [{ event: 'faults:u', period: 500 }];
    openCounting({ target: { kind: 'self' }, events: 'faults:u', overflows }).close();
    parentPort.postMessage('closed');`,
    `const worker = start();
    worker.once('message', (text) => console.log(text, perfDescriptors()));`,
  );
  assert.deepEqual([run.status, run.stdout, run.stderr], [0, 'closed 0\n', '']);
});

test('a terminated worker leaves no counter, and its signals end', { skip: noEvents }, () => {
  const run = runWorkers(
    `const signal = { number: 12, tid: process.pid };
    const target = { kind: 'threads', tids: [process.pid] };
    const session = openCounting({ target, events: 'cs:u,task-clock:u', inherit: false,
      overflows: [{ event: 'task-clock:u', period: 1_000_000, signal }] });
    session.start();
    const own = counters('faults:u');
    parentPort.postMessage('up');
    setInterval(() => own.read(), 1);`,
    `${SPIN_CPU_SOURCE}
    let signals = 0;
    process.on('SIGUSR2', () => signals++);
    const spin = async () => { spinCpu(60); await sleep(5); };
    for (let round = 0; round < 2; round++) {
      const worker = start();
      await new Promise((resolve) => worker.once('message', resolve));
      await spin();
      await worker.terminate();
    }
    await sleep(5);
    const before = signals;
    await spin();
    console.log(before > 0, signals - before, perfDescriptors());`,
  );
  assert.deepEqual([run.status, run.stdout, run.stderr], [0, 'true 0 0\n', '']);
});
