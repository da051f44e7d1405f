/** What sampling formats count, as a history: on the real kernel. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import { topFunctions } from '@counterpoint/core/query';
import type { SampleRecord } from '@counterpoint/core/records';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { defineFormat } from '../formats/index.ts';
import { type FlightDump, type FlightOptions, flight } from './index.ts';

const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'programs in the kernel need root';
const CALLS = 20_000;
const CALLED = `uprobe:${process.execPath}:uv_os_getppid`;
/** Nothing is handed over but for a file. */
const BY_FILES = 'interval=1h';

function directory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'flight-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Node that runs `script` for each line that it is given. */
async function stepper(context: TestContext, script: string) {
  const text = `process.stdin.on('data', () => { ${script}; console.log('done'); }); console.log('ready')`;
  const child = spawn(process.execPath, ['-e', text], { stdio: ['pipe', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const step = async () => {
    child.stdin.write('go\n');
    await once(child.stdout, 'data');
  };
  return { pid: child.pid!, step };
}

async function samples({ path }: FlightDump): Promise<SampleRecord[]> {
  await using recording = await openRecording(path);
  const found: SampleRecord[] = [];
  for await (const { record } of recording.records())
    if (record.type === PERF_RECORD_SAMPLE) found.push(record as SampleRecord);
  return found;
}

async function counted(dump: FlightDump): Promise<number> {
  return (await samples(dump)).reduce((sum, { sample }) => sum + Number(sample.period), 0);
}

const quiet: Partial<FlightOptions> = { buildIds: false };
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

for (const format of [`stacks,${BY_FILES}`, `histogram,${BY_FILES}`, 'double-buffer', 'on-miss'])
  test(`a file has what is still in the kernel, and the next goes on: ${format}`, {
    skip,
  }, async (context) => {
    const script = `let x = 0; for (let i = 0; i < ${CALLS}; i++) x += process.ppid`;
    const { pid, step } = await stepper(context, script);
    const handles = liveHandles();
    const recorder = await flight({
      ...quiet,
      pids: [pid],
      events: CALLED,
      period: 1,
      formats: [format],
      directory: directory(context),
    });
    const counts: number[] = [];
    for (let file = 0; file < 3; file++) {
      await step();
      const dump = await recorder.dump('test');
      // So many at once are more than small buffers hold.
      const lost = dump.loss.reduce((sum, { count }) => sum + Number(count), 0);
      const held = await counted(dump);
      assert.ok(held > (file * CALLS) / 4, `${held}`);
      counts.push(held + lost);
    }
    await recorder.stop();
    assert.deepEqual(counts, [CALLS, 2 * CALLS, 3 * CALLS]);
    assert.deepEqual(liveHandles(), handles);
  });

test('counts that are older than the history are not in the file', { skip }, async (context) => {
  const script = `let x = 0; for (let i = 0; i < ${CALLS}; i++) x += process.ppid`;
  const keepMs = 1000;
  await onTime(async () => {
    const { pid, step } = await stepper(context, script);
    const recorder = await flight({
      ...quiet,
      pids: [pid],
      events: CALLED,
      period: 1,
      formats: ['stacks,interval=100'],
      keepMs,
      directory: directory(context),
    });
    const began = performance.now();
    await step();
    const first = await recorder.dump('early');
    const tookMs = performance.now() - began;
    await pause(2500);
    const { formatBytes } = recorder.status();
    const second = await recorder.dump('late');
    await recorder.stop();
    assert.equal(await counted(second), 0);
    assert.equal(formatBytes, 0);
    // The first calls are older than the history where the target, or the recorder, gets no CPU.
    assertOnTime(tookMs < keepMs, `${tookMs} ms`);
    assert.equal(await counted(first), CALLS);
  });
});

test('slices tell when: each file has the functions of its time', { skip }, async (context) => {
  const place = directory(context);
  // Each is busy for 1.5 seconds, by turns.
  const script = join(place, 'turns.js');
  writeFileSync(
    script,
    // Wall time: the history holds so many seconds.
    `function first() { const end = Date.now() + 1500; let x = 0; while (Date.now() < end) for (let i = 0; i < 1e5; i++) x += Math.sqrt(i); return x; }
    // Wall time: so, too.
    function second() { const end = Date.now() + 1500; let x = 0; while (Date.now() < end) for (let i = 0; i < 1e5; i++) x += Math.sqrt(i); return x; }
    first(); second();`,
  );
  const dumps: FlightDump[] = [];
  const recorder = await flight({
    ...quiet,
    command: [process.execPath, script],
    events: 'cpu-clock',
    frequency: 997,
    formats: ['stacks,interval=100'],
    keepMs: 700,
    on: ['exit'],
    directory: place,
    onDump: (dump) => dumps.push(dump),
  });
  await recorder.ended;
  await using recording = await openRecording(dumps[0]!.path);
  const names = topFunctions((await recording.profile()).profile).rows.map((row) => row.symbol ?? '');
  assert.ok(
    names.some((name) => name.startsWith('JS:second ')),
    names.join('\n'),
  );
  assert.ok(!names.some((name) => name.startsWith('JS:first ')), names.join('\n'));
});

test('memory is bounded, and what had to go for it is a loss', { skip }, async (context) => {
  // Each call has an address of its own on a stack that gets deeper: hundreds of different chains.
  const script =
    'const deep = (n) => n === 0 ? process.ppid : deep(n - 1) + 1; for (let i = 0; i < 3000; i++) deep(i % 300)';
  const { pid, step } = await stepper(context, script);
  const recorder = await flight({
    ...quiet,
    pids: [pid],
    events: CALLED,
    period: 1,
    formats: ['stacks,interval=50'],
    memoryBytes: 20_000,
    directory: directory(context),
  });
  const isFull = () => recorder.status().elapsedMs - recorder.status().heldMs > 100;
  for (let round = 0; round < 30 && !isFull(); round++) {
    await step();
    await pause(20);
  }
  const { formatBytes, heldMs } = recorder.status();
  const dump = await recorder.dump('test');
  await recorder.stop();
  const [gone] = dump.loss.filter(({ kind, cpu }) => kind === 'history-overwritten' && cpu === null);
  assert.ok(gone !== undefined && BigInt(gone.count) > 0n, JSON.stringify(dump.loss));
  assert.ok(formatBytes > 0 && formatBytes < 100_000, `${formatBytes}`);
  assert.ok(heldMs < 30_000, `${heldMs}`);
});

test('formats that cannot be a history are refused', { skip }, async (context) => {
  const options = { ...quiet, pids: [process.pid], directory: directory(context) };
  const refused = { code: 'ERR_FLIGHT_FORMAT' };
  await assert.rejects(flight({ ...options, formats: ['off-cpu'] }), refused);
  const own = { name: 'own', version: 1, summary: 'none', options: {} } as const;
  const mute = defineFormat({ ...own, plan: () => ({}), async *collect() {} });
  await assert.rejects(flight({ ...options, formats: [{ format: mute }] }), refused);
  const suspending = defineFormat({
    ...own,
    history: {},
    plan: () => ({ suspend: true, wake: { kind: 'every', count: 1 } }),
    onOverflow: (asm) => asm.dropRecord(),
    async *collect() {},
  });
  await assert.rejects(flight({ ...options, formats: [{ format: suspending }] }), refused);
});

test('a format that fails is told, and what it gave before is written', { skip }, async (context) => {
  // Wall time: the format looks after 50 ms, and this goes on for longer.
  const script = 'const end = Date.now() + 300; while (Date.now() < end);';
  const { pid, step } = await stepper(context, script);
  const failing = defineFormat({
    name: 'failing',
    version: 1,
    summary: 'gives one sample, and fails',
    options: {},
    history: {},
    plan: () => ({}),
    onOverflow: (asm) => asm.dropRecord(),
    async *collect(_maps, { next, nowNs }) {
      const timeNs = nowNs();
      await next(50);
      yield { event: 0, ip: 1n, pid, tid: pid, cpu: 0, timeNs, period: 7n };
      throw new Error('it was too much');
    },
    *toSamples(sample) {
      yield sample;
    },
  });
  const recorder = await flight({
    ...quiet,
    pids: [pid],
    formats: [{ format: failing }],
    directory: directory(context),
  });
  await step();
  const dump = await recorder.dump('test');
  await recorder.stop();
  assert.equal(await counted(dump), 7);
  assert.ok(
    recorder.notes.some(({ kind, text }) => kind === 'format-failed' && text.includes('it was too much')),
    JSON.stringify(recorder.notes),
  );
});

test('the log that V8 leaves beside a command is removed', { skip }, async (context) => {
  const place = directory(context);
  const recorder = await flight({
    ...quiet,
    command: ['sh', '-c', `cd ${place} && ${process.execPath} -e 1; true`],
    directory: join(place, 'files'),
  });
  await recorder.ended;
  assert.deepEqual(
    readdirSync(place).filter((name) => name.endsWith('.log')),
    [],
  );
});
