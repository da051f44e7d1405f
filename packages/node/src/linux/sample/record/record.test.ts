import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_MMAP2 } from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import type { PerfRecord } from '@counterpoint/core/records';
import { liveHandles } from '../../kernel/sys/index.ts';
import { type RecordOptions, type RecordResult, record, recordLive } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-record-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));

const isRoot = process.getuid?.() === 0;
/** About 60 ms of work, all of it in one process. */
const BUSY = ['sh', '-c', 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'];
const quiet: RecordOptions['launch'] = { stdio: ['ignore', 'ignore', 'ignore'] };

async function cannotRecord(): Promise<string | false> {
  try {
    await record({ command: ['true'], output: join(directory, 'probe.data'), launch: quiet! });
    return false;
  } catch (error) {
    return `no recording here: ${(error as Error).message}`;
  }
}
const skip = await cannotRecord();
const perfSkip = skip || (spawnSync('perf', ['--version']).status === 0 ? false : 'perf is not installed');
const rootSkip = skip || (isRoot ? false : 'needs root');

function recordTo(name: string, options: RecordOptions): Promise<RecordResult> {
  return record({ events: 'cpu-clock', launch: quiet!, ...options, output: join(directory, name) });
}

function perf(...words: string[]): string {
  return execFileSync('perf', words, {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

async function readFrom(path: string) {
  const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
  const records: PerfRecord[] = [];
  for await (const { record: one } of readRecords(reader)) records.push(one);
  const count = (type: number) => records.filter((one) => one.type === type).length;
  const samples = records.flatMap((one) => ('sample' in one ? [one.sample] : []));
  return { reader, records, count, samples };
}

function medianGap(times: readonly number[]): number {
  assert.ok(times.length > 50, `${times.length} samples`);
  const sorted = [...times].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((time, index) => time - sorted[index]!);
  return gaps.sort((a, b) => a - b)[gaps.length >> 1]!;
}

const read = (name: string) => readFrom(join(directory, name));

describe('a group whose samples read it', { skip }, () => {
  const GROUP = '{cpu-clock/period=1000000/,page-faults/period=1/}:S';
  test('samples by the period of each member, and what children do, or says that it cannot', async () => {
    const command = ['sh', '-c', 'for i in 1 2 3 4; do cat /dev/null; done'];
    const result = await recordTo('group.data', { command, events: GROUP });
    const { reader, samples } = await read('group.data');
    const faults = reader.events.events[1]!;
    // Each fault is a sample: a shell alone has dozens.
    assert.ok(samples.length > 30, `${samples.length} samples`);
    assert.equal(faults.attr.samplePeriodOrFreq, 1n);
    const processes = new Set(samples.map(({ pid }) => pid)).size;
    const isTold = result.notes.some(({ text }) => /child processes .* not in this recording/.test(text));
    assert.ok(isTold ? processes === 1 : processes >= 5, `${processes} processes, told: ${isTold}`);
  });
});

describe('a command', { skip }, () => {
  test('is recorded from its exec to its end, and the file says what the result says', async () => {
    const result = await recordTo('command.data', { command: BUSY, frequency: 5000, callGraph: 'fp' });
    assert.deepEqual([result.stopped, result.exitCode, result.error], ['command-exited', 0, null]);
    assert.ok(result.samples > 50, `${result.samples} samples`);
    const { reader, samples } = await read('command.data');
    assert.equal(samples.length, result.samples);
    assert.equal(statSync(join(directory, 'command.data')).size, result.bytes);
    assert.equal(statSync(join(directory, 'command.data')).mode & 0o777, 0o600);
    assert.deepEqual(reader.damage.list(), []);
    assert.equal(reader.isUnfinished, false);
    const { features } = reader;
    assert.ok(
      features.cpusOnline! >= 1 && features.hostname !== undefined && features.sampleTime !== undefined,
    );
    assert.ok(
      features.buildIds!.some(({ path, buildId }) => /libc/.test(path) && /^[0-9a-f]{40}$/.test(buildId)),
    );
    assert.ok(features.buildIds!.some(({ path }) => path === '[vdso]'));
  });

  test('its status is passed on, and a signal as 128 + n; dying at once leaves a complete file', async () => {
    const seven = await recordTo('seven.data', { command: ['sh', '-c', 'exit 7'] });
    assert.deepEqual([seven.exitCode, seven.exitSignal], [7, null]);
    const killed = await recordTo('killed.data', { command: ['sh', '-c', 'kill -KILL $$'] });
    assert.deepEqual([killed.exitCode, killed.exitSignal], [137, 'SIGKILL']);
    assert.equal((await read('killed.data')).reader.isUnfinished, false);
  });

  test('that cannot run is refused, and an earlier recording stays where it is', async () => {
    const path = join(directory, 'kept.data');
    writeFileSync(path, 'earlier');
    await assert.rejects(recordTo('kept.data', { command: ['no-such-command-here'] }), { exitStatus: 127 });
    await assert.rejects(recordTo('kept.data', { command: ['true'], events: 'no-such-event' }), {
      code: 'ERR_EVENT_SYNTAX',
    });
    assert.equal(readFileSync(path, 'utf8'), 'earlier');
    await recordTo('kept.data', { command: ['true'] });
    assert.equal(readFileSync(`${path}.old`, 'utf8'), 'earlier');
  });

  test('children are followed, or not', async () => {
    const command = ['sh', '-c', `${BUSY[2]}; (${BUSY[2]}); ${BUSY[2]}`];
    const pids = async (inherit: boolean) => {
      await recordTo('inherit.data', { command, inherit, frequency: 2000 });
      const { samples } = await read('inherit.data');
      return new Set(samples.map(({ pid }) => pid)).size;
    };
    assert.equal(await pids(true), 2);
    assert.equal(await pids(false), 1);
  });

  test('a delay leaves the beginning out, but not its maps', async () => {
    const command = ['sh', '-c', 'sleep 0.01; i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done'];
    const result = await recordTo('delay.data', { command, delayMs: 100, frequency: 1000 });
    const { reader, records, count } = await read('delay.data');
    assert.ok(result.samples > 0);
    assert.ok(count(PERF_RECORD_MMAP2) >= 3, 'MMAP2 records of the first moments');
    const { first } = reader.features.sampleTime!;
    const exec = records.find(({ type, sampleId }) => type === PERF_RECORD_COMM && sampleId?.time)!.sampleId!
      .time!;
    assert.ok(Number(first - exec) / 1e6 > 90, 'the first sample is 100 ms after the exec');
  });

  test('a size limit ends it, and the command', async () => {
    const command = ['sh', '-c', 'while :; do :; done'];
    const result = await recordTo('limit.data', {
      command,
      frequency: 5000,
      maxSizeBytes: 50_000,
      flushIntervalMs: 10,
    });
    assert.deepEqual([result.stopped, result.exitSignal], ['size-limit', 'SIGTERM']);
    assert.ok(result.bytes >= 50_000 && result.bytes < 150_000, `${result.bytes} bytes`);
    assert.equal((await read('limit.data')).samples.length, result.samples);
    assert.deepEqual(result.loss, [], 'what was recorded until then is all there');
  });

  test('an abort ends the recording of a command that does not listen, which is left alone', async () => {
    let pid: number | null = null;
    const stop = new AbortController();
    const ignoresTerm = () =>
      (BigInt(`0x${/^SigIgn:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]}`) & 0x4000n) !==
      0n;
    const result = await recordTo('stubborn.data', {
      command: ['sh', '-c', "trap '' TERM; while :; do sleep 0.05; done"],
      signal: stop.signal,
      commandGraceMs: 100,
      onStart: (start) => {
        pid = start.pid;
        const asking = setInterval(() => {
          if (!ignoresTerm()) return;
          clearInterval(asking);
          setTimeout(() => stop.abort(), 150);
        }, 5);
      },
    });
    try {
      assert.deepEqual([result.stopped, result.exitCode], ['aborted', null]);
      assert.match(result.notes.map(({ text }) => text).join(), new RegExp(`process ${pid}\\) still runs`));
      process.kill(pid!, 0);
      assert.ok((await read('stubborn.data')).samples.length > 0);
    } finally {
      process.kill(pid!, 'SIGKILL');
    }
  });

  test('what only programs without types can ask for is refused', async () => {
    await assert.rejects(recordTo('x.data', { command: 'true' as never }), { code: 'ERR_COMMAND' });
    await assert.rejects(recordTo('x.data', { command: ['true'], callGraph: 'orc' as never }), {
      code: 'ERR_CALL_GRAPH',
    });
  });

  test('an abort ends it with a complete file; aborted before, nothing starts', async () => {
    const controller = new AbortController();
    const command = ['sh', '-c', 'while :; do :; done'];
    const result = await recordTo('abort.data', {
      command,
      signal: controller.signal,
      onStart: () => setTimeout(() => controller.abort(), 50),
    });
    assert.equal(result.stopped, 'aborted');
    assert.equal((await read('abort.data')).samples.length, result.samples);
    await assert.rejects(recordTo('never.data', { command, signal: controller.signal }), {
      name: 'AbortError',
    });
    assert.ok(!existsSync(join(directory, 'never.data')));
  });

  for (const hook of ['onStart', 'onProgress'] as const) {
    test(`an error in ${hook} ends recording and command, and rejects; the file is complete`, async () => {
      let pid = 0;
      const run = recordTo('hook.data', {
        command: ['sleep', '30'],
        onStart: (start) => {
          pid = start.pid!;
          if (hook === 'onStart') throw new Error('mine');
        },
        onProgress: () => {
          throw new Error('mine');
        },
        progressIntervalMs: 20,
      });
      await assert.rejects(run, { message: 'mine' });
      assert.ok(pid > 0 && !existsSync(`/proc/${pid}`));
      assert.equal((await read('hook.data')).reader.isUnfinished, false);
    });
  }

  test('amounts that make no sense are refused before anything starts', async () => {
    for (const [options, pattern] of [
      [{ maxSizeBytes: -1 }, /maxSizeBytes should be a whole number from 1, but is -1/],
      [{ maxSizeBytes: 1.5 }, /maxSizeBytes/],
      [{ delayMs: -5 }, /delayMs should be a number from 0 to 2147483647, but is -5/],
      [{ delayMs: Number.NaN }, /delayMs/],
      [{ flushIntervalMs: -1 }, /flushIntervalMs/],
      [{ progressIntervalMs: 0 }, /progressIntervalMs/],
      [{ frequency: 0.5 }, /frequency should be a whole number from 1, or max, but is 0.5/],
      [{ period: 0 }, /period should be a whole number from 1, or a bigint from 1, but is 0/],
      [{ period: 0n }, /but is 0n/],
      [{ mmapPages: 0 }, /mmapPages should be a whole number from 1 to 1048576, but is 0/],
      [{ clockId: 77 }, /clockId should be one of 0, 1, 4, 7, 11, but is 77/],
      [{ frequency: 99, period: 1000 }, /both a frequency and a period/],
    ] as const) {
      await assert.rejects(recordTo('amounts.data', { command: ['true'], ...options }), { message: pattern });
    }
    assert.ok(!existsSync(join(directory, 'amounts.data')));
  });

  test('progress is told while it runs', async () => {
    const seen: number[] = [];
    await recordTo('progress.data', {
      command: ['sleep', '0.2'],
      onProgress: ({ elapsedMs, lostRecords }) => {
        assert.equal(lostRecords, 0n);
        seen.push(elapsedMs);
      },
      progressIntervalMs: 20,
    });
    assert.ok(seen.length >= 3 && seen.every((ms, i) => i === 0 || ms > seen[i - 1]!));
  });

  test('no hardware counters: cpu-clock, said once', async () => {
    const result = await record({
      command: ['true'],
      launch: quiet!,
      output: join(directory, 'default.data'),
    });
    const [event] = result.events;
    assert.equal(event!.requestedName, 'cycles:P');
    const replaced = result.notes.filter(
      ({ kind }) => kind === 'event-replaced' || kind === 'kernel-excluded',
    );
    assert.equal(replaced.length, event!.name.startsWith('cycles:P') && !event!.name.includes('u') ? 0 : 1);
  });
});

describe('Node programs', { skip }, () => {
  const code =
    'function busyWork(){let x=0;for(let i=0;i<3e6;i++)x+=i%7;return x} for(let i=0;i<20;i++)busyWork()';

  test('write names of JavaScript functions, and no log is left behind', async () => {
    const result = await recordTo('node.data', {
      command: [process.execPath, '-e', code],
      launch: { ...quiet, cwd: directory },
      keepPerfMaps: true,
      onStart: ({ pid }) => after(() => rmSync(`/tmp/perf-${pid}.map`, { force: true })),
    });
    assert.equal(result.notes.filter(({ kind }) => kind === 'node-names').length, 1);
    const [sample] = (await read('node.data')).samples;
    const map = readFileSync(`/tmp/perf-${sample!.pid}.map`, 'utf8');
    assert.match(map, /busyWork/);
    assert.deepEqual(execFileSync('find', [directory, '-name', 'isolate*'], { encoding: 'utf8' }), '');
  });

  test('keep their environment when names are not wanted or already there', async () => {
    const out = join(directory, 'options.txt');
    const show = `require('fs').writeFileSync('${out}', process.env.NODE_OPTIONS ?? 'none')`;
    const run = async (options: Partial<RecordOptions>) => {
      await recordTo('options.data', {
        command: [process.execPath, '-e', show],
        ...options,
        onStart: ({ pid }) => after(() => rmSync(`/tmp/perf-${pid}.map`, { force: true })),
      });
      return readFileSync(out, 'utf8');
    };
    const { NODE_OPTIONS: _, ...env } = process.env;
    assert.equal(await run({ nodeNames: false, launch: { ...quiet, env } }), 'none');
    const launch = { ...quiet, cwd: directory, env: { ...env, NODE_OPTIONS: '--no-warnings' } };
    assert.equal(await run({ launch }), '--no-warnings --perf-basic-prof --interpreted-frames-native-stack');
  });
});

describe('what already runs', { skip }, () => {
  test('a process with its threads, until it ends', async () => {
    const spin = 'const from = process.cpuUsage(); while (process.cpuUsage(from).user < 1e5); process.exit()';
    const code = `console.log(1); process.stdin.once("data", () => { ${spin} });`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const onStart = () => void child.stdin.write('go\n');
    const result = await recordTo('process.data', { pids: [child.pid!], frequency: 2000, onStart });
    assert.deepEqual([result.stopped, result.exitCode], ['target-ended', null]);
    const { count } = await read('process.data');
    assert.ok(result.samples > 0);
    assert.ok(count(PERF_RECORD_COMM) >= 2, 'names of its threads');
    assert.ok(count(PERF_RECORD_MMAP2) >= 2, 'its maps, which the kernel had made before');
  });

  test('for as long as a command runs', async () => {
    const child = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
    const result = await recordTo('while.data', { tids: [child.pid!], command: ['sleep', '0.1'] });
    child.kill('SIGKILL');
    assert.deepEqual([result.stopped, result.exitCode], ['command-exited', 0]);
    assert.ok(result.samples > 10);
  });

  test('nobody there, no CPU, no target: refused in words', async () => {
    await assert.rejects(recordTo('x', { pids: [2 ** 22 + 7] }), { code: 'ERR_NO_PROCESS' });
    await assert.rejects(recordTo('x', { tids: [2 ** 22 + 7] }), { code: 'ERR_NO_PROCESS' });
    await assert.rejects(recordTo('x', { cpus: [8191] }), { code: 'ERR_NO_CPU' });
    await assert.rejects(recordTo('x', {}), { code: 'ERR_NO_TARGET' });
    assert.ok(!existsSync(join(directory, 'x')));
  });

  test('whole CPUs', { skip: rootSkip }, async () => {
    const result = await recordTo('all.data', { systemWide: true, command: BUSY, frequency: 500 });
    const { count, reader } = await read('all.data');
    assert.equal(reader.events.events.length, 2);
    assert.ok(result.samples > 5);
    assert.ok(count(PERF_RECORD_FORK) > 10 && count(PERF_RECORD_COMM) > 10, 'every process is known');
  });
});

describe('where it goes', { skip }, () => {
  test('a live stream: the same reader, while it happens', async () => {
    const live = recordLive({
      command: BUSY,
      events: 'cpu-clock',
      frequency: 2000,
      launch: quiet!,
      flushIntervalMs: 10,
    });
    const reader = await openPerfData(live.stream);
    let samples = 0;
    for await (const { record: one } of readRecords(reader)) if ('sample' in one) samples++;
    const result = await live.finished;
    assert.equal(samples, result.samples);
    assert.ok(samples > 20);
  });

  test('a live stream that nobody reads any more ends the recording', async () => {
    const live = recordLive({
      command: ['sleep', '5'],
      events: 'cpu-clock',
      launch: quiet!,
      flushIntervalMs: 10,
    });
    for await (const _ of live.stream) break;
    const result = await live.finished.catch((error) => error);
    assert.ok(result.stopped === 'write-error' || result.code === 'ERR_STREAM_CLOSED');
  });

  test('a live recording that cannot begin says so to both', async () => {
    const live = recordLive({ command: ['no-such-command-here'] });
    await assert.rejects(async () => {
      for await (const _ of live.stream) assert.fail();
    }, /command not found/);
    await assert.rejects(live.finished, /command not found/);
  });

  test('a FIFO takes a stream, at the pace of its reader', async () => {
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const out = openSync(join(directory, 'from-fifo.data'), 'w');
    const slow = spawn('sh', ['-c', `exec < ${fifo}; sleep 0.1; cat`], { stdio: ['ignore', out, 'ignore'] });
    const closed = new Promise((resolve) => slow.on('close', resolve));
    const result = await record({
      command: BUSY,
      events: 'cpu-clock',
      frequency: 9000,
      launch: quiet!,
      output: fifo,
    });
    await closed;
    const { reader, samples } = await read('from-fifo.data');
    assert.equal(reader.isPipe, true);
    assert.equal(samples.length, result.samples);
  });

  test('a place that cannot be written is refused before the command runs', async () => {
    const ran = join(directory, 'ran');
    const output = join(directory, 'no', 'such', 'directory');
    await assert.rejects(record({ command: ['touch', ran], events: 'cpu-clock', launch: quiet!, output }), {
      code: 'ERR_WRITE',
    });
    assert.ok(!existsSync(ran));
  });
});

describe('perf as oracle', { skip: perfSkip }, () => {
  test('counts what we count, and sees the events and the machine', async () => {
    const result = await recordTo('oracle.data', {
      command: BUSY,
      events: '{cpu-clock,task-clock},page-faults',
      callGraph: true,
    });
    const stats = perf('report', '--stats', '-i', 'oracle.data');
    const counts = [...stats.matchAll(/^\s+SAMPLE events:\s+(\d+)/gm)].map((match) => Number(match[1]));
    assert.equal(counts[0], result.samples);
    // As an ordinary user the kernel is left out, and the names say so.
    const [first, second, third] = result.events.map(({ name }) => name);
    assert.equal(perf('evlist', '-g', '-i', 'oracle.data').trim(), `{${first},${second}}\n${third}`);
    const header = perf('report', '--header-only', '-i', 'oracle.data');
    for (const field of [
      'hostname',
      'os release',
      'arch',
      'nrcpus online',
      'total memory',
      'cmdline',
      'pmu mappings',
    ])
      assert.match(header, new RegExp(`^# ${field} ?: \\S`, 'm'));
    assert.match(perf('buildid-list', '-i', 'oracle.data'), /libc/);
  });

  test('samples as often as perf does, of the same program', async () => {
    await recordTo('rate.data', { command: BUSY, frequency: 5000 });
    perf('record', '-q', '-e', 'cpu-clock', '-F', '5000', '-o', 'perf-rate.data', '--', ...BUSY);
    // By the time from each sample to the next: how many there are says how long the command ran, and
    // others may have had its CPU.
    const ownGapNs = medianGap((await read('rate.data')).samples.map(({ time }) => Number(time)));
    const times = perf('script', '--ns', '-F', 'time', '-i', 'perf-rate.data').match(/\d+\.\d{9}/g)!;
    const gapNs = medianGap(times.map((time) => Number(time.replace('.', ''))));
    assert.ok(ownGapNs > gapNs * 0.9 && ownGapNs < gapNs * 1.1, `${ownGapNs} and ${gapNs} ns`);
  });

  test('reads our stream from a pipe', async () => {
    const script = join(directory, 'piped.mjs');
    const options = JSON.stringify({ command: BUSY, events: 'cpu-clock', output: '-', frequency: 2000 });
    writeFileSync(
      script,
      `import { record } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};\nawait record(${options});\n`,
    );
    const run = spawnSync(
      'sh',
      [
        '-c',
        '"$@" | perf script -F comm,event -i -',
        'sh',
        process.execPath,
        '--import',
        'tsx',
        '--conditions=counterpoint-source',
        script,
      ],
      { encoding: 'utf8' },
    );
    const lines = run.stdout.trim().split('\n');
    assert.ok(lines.length > 20, `${lines.length} lines; ${run.stderr}`);
    assert.ok(lines.every((line) => /cpu-clock/.test(line)));
  });
});
