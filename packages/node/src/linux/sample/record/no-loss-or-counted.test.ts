/**
 * Rings that are driven past what their reader takes: what is recorded and what is
 * told as lost is all there was.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRecording } from '../../../host/open/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { sourceModule, sourceOptions } from '../../../test/sources.ts';
import { type RecordResult, record } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'tracepoints and probes need root';
const CALLS = 300_000;
const EVENTS = {
  tracepoint: 'syscalls:sys_enter_getppid',
  probe: `uprobe:${process.execPath}:uv_os_getppid`,
};

/** Node that makes its calls after a line on its input, and then ends. */
function caller(): ChildProcess {
  const script = `process.stdin.once('data', () => { for (let i = 0; i < ${CALLS}; i++) process.ppid; process.exit(); })`;
  return spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'inherit'] });
}

/** What the events' own counts make of the calls: samples, and losses of samples. */
async function total(path: string, event: string): Promise<{ samples: number; lost: number }> {
  await using recording = await openRecording(path);
  const { samples, loss } = await recording.stats();
  const lost = loss.filter(({ kind }) => kind === 'ring-full' || kind === 'recorder-stopped');
  assert.ok(loss.length === lost.length, JSON.stringify(loss));
  assert.ok(lost.every((one) => one.event === null || one.event === event));
  return { samples, lost: lost.reduce((sum, { count }) => sum + Number(count), 0) };
}

/**
 * A recording through a pipe whose reader sleeps until the program has ended; what comes through in
 * the end is at the path given.
 */
async function throughSlowPipe(
  folder: string,
  event: string,
  options: { mmapPages: number; bufferBytes: number },
): Promise<{ result: RecordResult; path: string }> {
  const pipe = join(folder, 'pipe');
  const path = join(folder, 'perf.data');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const child = caller();
  const waits = `while kill -0 ${child.pid} 2>/dev/null; do sleep 0.05; done`;
  const slow = spawn('sh', ['-c', `exec < "${pipe}"; ${waits}; exec cat > "${path}"`]);
  const ended = new Promise((done) => slow.once('exit', done));
  const result = await record({
    ...options,
    pids: [child.pid!],
    events: event,
    period: 1,
    buildIds: false,
    output: pipe,
    onStart: () => child.stdin!.write('go\n'),
  });
  await ended;
  return { result, path };
}

test('memory holds what a pipe does not take, up to its bound', { skip }, async (t) => {
  const rings = { mmapPages: 512 };
  const enough = await throughSlowPipe(temporaryFolder(t), EVENTS.probe, { ...rings, bufferBytes: 2 ** 26 });
  assert.deepEqual(enough.result.loss, []);
  assert.deepEqual(await total(enough.path, EVENTS.probe), { samples: CALLS, lost: 0 });
  const little = await throughSlowPipe(temporaryFolder(t), EVENTS.probe, { ...rings, bufferBytes: 2 ** 20 });
  const { samples, lost } = await total(little.path, EVENTS.probe);
  // The pipe, a MiB here, and the rings of all CPUs.
  assert.ok(lost > 0 && samples + lost >= CALLS && samples + lost <= CALLS + 64, `${samples} + ${lost}`);
});

for (const [name, event] of Object.entries(EVENTS)) {
  test(`${name}: into a small ring, behind a reader that sleeps`, { skip }, async (t) => {
    const { result, path } = await throughSlowPipe(temporaryFolder(t), event, {
      mmapPages: 16,
      bufferBytes: 0,
    });
    assert.equal(result.stopped, 'target-ended');
    const { samples, lost } = await total(path, event);
    assert.ok(lost > 0, 'the ring was never full');
    assert.ok(samples > 0);
    // The kernel counts records of maps and exits that it could not store with the samples.
    assert.ok(samples + lost >= CALLS && samples + lost <= CALLS + 64, `${samples} + ${lost}`);
    assert.equal(result.samples, samples);
    const told = result.loss.reduce((sum, { count }) => sum + Number(count), 0);
    assert.equal(told, lost);
  });

  test(`${name}: into a file, with room enough, is all there was, and nothing is told`, {
    skip,
  }, async (t) => {
    const path = join(temporaryFolder(t), 'perf.data');
    const child = caller();
    const { loss } = await record({
      pids: [child.pid!],
      events: event,
      period: 1,
      mmapPages: 8192,
      buildIds: false,
      output: path,
      onStart: () => child.stdin!.write('go\n'),
    });
    assert.deepEqual(loss, []);
    assert.deepEqual(await total(path, event), { samples: CALLS, lost: 0 });
  });
}

test('while the recorder is stopped the kernel counts, and it goes on afterwards', { skip }, async (t) => {
  const path = join(temporaryFolder(t), 'perf.data');
  const script = `process.stdin.on('data', () => { for (let i = 0; i < ${CALLS / 2}; i++) process.ppid; console.log('done'); })`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const options = {
    pids: [child.pid],
    events: EVENTS.probe,
    period: 1,
    mmapPages: 64,
    buildIds: false,
    output: path,
  };
  const recording = `const { record } = await import('${sourceModule('linux/sample/record/record.ts')}');
await record({ ...${JSON.stringify(options)}, onStart: () => console.log('started') });`;
  const loader = [...sourceOptions(), '--input-type=module'];
  const recorder = spawn(process.execPath, [...loader, '-e', recording], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(recorder.stdout, 'data');
    const called = async () => {
      child.stdin!.write('go\n');
      await once(child.stdout!, 'data');
    };
    recorder.kill('SIGSTOP');
    await called();
    await sleep(2000);
    recorder.kill('SIGCONT');
    await sleep(300);
    await called();
    child.kill('SIGTERM');
    const [status] = await once(recorder, 'exit');
    assert.equal(status, 0);
    const { samples, lost } = await total(path, EVENTS.probe);
    // What the ring held, and all that came after.
    assert.ok(lost > 0 && samples > 1000, `${samples} + ${lost}`);
    assert.ok(samples + lost >= CALLS && samples + lost <= CALLS + 64, `${samples} + ${lost}`);
  } finally {
    child.kill('SIGKILL');
    recorder.kill('SIGKILL');
  }
});

test('--fail-on-loss is 3 where the command gave 0, and the command’s status else', { skip }, async (t) => {
  const path = join(temporaryFolder(t), 'perf.data');
  // A page of ring, and more calls than any reader takes at a time.
  const lossy = [
    'record',
    '-q',
    '-m',
    '1',
    '-e',
    'syscalls:sys_enter_getppid',
    '-c',
    '1',
    '-o',
    path,
    '--fail-on-loss',
  ];
  const calls = (exit: number) => `for (let i = 0; i < ${CALLS}; i++) process.ppid; process.exit(${exit})`;
  for (const [exit, status] of [
    [0, 3],
    [7, 7],
  ] as const) {
    const { status: given, err } = await counterpoint(...lossy, '--', process.execPath, '-e', calls(exit));
    assert.equal(given, status, err);
    await using recording = await openRecording(path);
    assert.ok((await recording.stats()).loss.length > 0);
  }
});
