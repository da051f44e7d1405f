import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { openCounting } from '../linux/count/counting/index.ts';
import { record } from '../linux/sample/record/index.ts';
import { commandLineProcess, counterpoint } from '../test/command-line.ts';
import { noFormats } from '../test/format-recording.ts';
import { temporaryFolder } from '../test/perf.ts';
import { C_LIBRARY, definedProbes, probesAreMissing } from '../test/probe-programs.ts';

/**
 * A service that runs before Counterpoint, and after it. Each answer takes 10 calls of kill, of a worker 100.
 */
const SERVER = `
const { createServer } = require('node:http');
const { Worker } = require('node:worker_threads');
const { execFile } = require('node:child_process');
const calls = 'for (let i = 0; i < 100; i++) process.kill(process.pid, 0)';
createServer((request, response) => {
  if (request.url === '/worker') {
    const worker = new Worker(calls, { eval: true });
    worker.on('error', (error) => response.end(String(error)));
    worker.on('exit', () => response.end('worker'));
  } else if (request.url === '/child') {
    execFile('/bin/sh', ['-c', 'echo child | cat'], (error, text) => response.end(error ? String(error) : text.trim()));
  } else {
    for (let i = 0; i < 10; i++) process.kill(process.pid, 0);
    response.end('own');
  }
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

async function startServer(t: {
  after(end: () => void): void;
}): Promise<{ pid: number; ask(): Promise<void> }> {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill('SIGKILL'));
  const [port] = await once(server.stdout!, 'data');
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${Number(port)}/${path}`)).text();
  return {
    pid: server.pid!,
    async ask() {
      for (const path of ['own', 'worker', 'child']) assert.equal(await get(path), path);
    },
  };
}

const skip = probesAreMissing();
const kill = `uprobe:${C_LIBRARY}:kill`;

const ours = (child: ChildProcess) =>
  definedProbes().filter((line) => line.includes(`counterpoint_${child.pid}_`));

test('a Node service goes on serving while it is counted and recorded, and nothing is missed', {
  skip,
}, async (t) => {
  const server = await startServer(t);
  const path = join(temporaryFolder(t), 'perf.data');
  const stop = new AbortController();
  let isStarted = () => {};
  const started = new Promise<void>((resolve) => {
    isStarted = resolve;
  });
  const events = `${kill},uretprobe:${C_LIBRARY}:kill`;
  const recorded = record({
    pids: [server.pid],
    events,
    output: path,
    signal: stop.signal,
    onStart: () => isStarted(),
  });
  await Promise.race([started, recorded]);
  using session = openCounting({ target: { kind: 'processes', pids: [server.pid] }, events });
  session.start();
  for (let round = 0; round < 3; round++) await server.ask();
  session.stop();
  stop.abort();
  await recorded;
  assert.deepEqual(
    session.read().sets[0]!.events.map(({ value }) => value),
    [330n, 330n],
  );
  const { out } = await counterpoint('report', '-i', path, '--json');
  const answer = JSON.parse(out) as { events: { samples: number }[] };
  assert.deepEqual(
    answer.events.map(({ samples }) => samples),
    [330, 330],
  );
  await server.ask();
});

test('a killed Counterpoint leaves the service as it was; the next run removes its probes', {
  skip,
}, async (t) => {
  const server = await startServer(t);
  const words = ['stat', '-e', `uprobe:${C_LIBRARY}:malloc,${kill}`, '-I', '100', '-p', String(server.pid)];
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const first = spawn(process.execPath, [...commandLineProcess(), ...words], { stdio: [...stdio] });
  // The first interval: all is open.
  await once(first.stderr!, 'data');
  assert.equal(ours(first).length, 2);
  await server.ask();
  first.kill('SIGKILL');
  await once(first, 'close');
  await server.ask();
  assert.equal(ours(first).length, 2);
  const next = spawn(process.execPath, [...commandLineProcess(), 'stat', '-e', kill, '/bin/true'], {
    stdio: 'ignore',
  });
  const [status] = await once(next, 'close');
  assert.equal(status, 0);
  assert.deepEqual(ours(first), []);
  await server.ask();
});

test('other events with something beside their attr are inherited without harm: filters, breakpoints, programs', {
  skip: skip || noFormats,
}, async (t) => {
  const shell = ['sh', '-c', 'test "$(ls / | wc -l)" -gt 0'];
  const filtered = ['-e', 'sched:sched_process_fork', '--filter', 'parent_pid>1', '-e', 'mem:0x1000:x'];
  const counted = await counterpoint('stat', '-x,', ...filtered, '--', ...shell);
  assert.equal(counted.status, 0, counted.err);
  assert.match(counted.err, /^[1-9]\d*,,sched:sched_process_fork/m);
  const path = join(temporaryFolder(t), 'perf.data');
  const handled = await counterpoint('record', '-q', '-o', path, '--format', 'histogram', '--', ...shell);
  assert.equal(handled.status, 0, handled.err);
});
