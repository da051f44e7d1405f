/** Time off the CPU, of programs that are known to be off it, on the real kernel. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type TopRow, topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { untilAsleep } from '../../../test/asleep.ts';
import { noTracepoints } from '../../../test/rights.ts';
import { defineFormat } from '../formats/index.ts';
import type { RecordOptions } from './options.ts';
import { record } from './record.ts';

const skip = noTracepoints;
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-off-cpu-'));
after(() => rmSync(folder, { recursive: true }));

/** Seconds by event, name of the program and function, with those of what is called. */
async function recorded(name: string, options: RecordOptions) {
  const output = join(folder, `${name}.data`);
  const { formats, loss } = await record({ ...options, output });
  // On a busy machine there may be a thousand stacks, and then two of them in one place; and a thread may
  // lose its CPU where its stack is deeper than the kernel follows.
  const byChance = new Set(['format-stack-collision', 'call-chain-cut']);
  assert.deepEqual(
    loss.filter(({ kind }) => !byChance.has(kind)),
    [],
  );
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const event = profile.events.findIndex((one) => one.name === 'offcpu-time');
  const { rows } = topFunctions(profile, { event, sort: ['comm', 'symbol'], children: true });
  const seconds = (comm: string, symbol: RegExp, read: (row: TopRow) => string) =>
    rows
      .filter((row) => row.comm === comm && symbol.test(row.symbol ?? ''))
      .reduce((sum, row) => sum + Number(read(row)) / 1e9, 0);
  return {
    output,
    profile,
    lines: formats.at(-1)!.lines.join('\n'),
    total: Number(profile.events[event]!.sumPeriod) / 1e9,
    own: (comm: string, symbol: RegExp) => seconds(comm, symbol, (row) => row.selfPeriod),
    inAll: (comm: string, symbol: RegExp) =>
      Math.max(
        0,
        ...rows
          .filter((row) => row.comm === comm && symbol.test(row.symbol ?? ''))
          .map((row) => Number(row.totalPeriod) / 1e9),
      ),
  };
}

test('a sleep of known length, where it sleeps, for us and for perf', { skip }, async () => {
  const { output, inAll, total } = await recorded('sleep', {
    command: ['sleep', '0.4'],
    events: 'task-clock',
    formats: ['ring', 'off-cpu,ready=no'],
  });
  const slept = inAll('sleep', /nanosleep/);
  // The time that was asked for begins before the switch, and it ends when the thread runs again: on a
  // busy machine both take time.
  assert.ok(slept > 0.36 && slept < 2, `slept for ${slept} s`);
  assert.ok(inAll('sleep', /^(__)?schedule$/) >= slept, 'the kernel part of the stack');
  const perf = spawnSync('perf', ['script', '-i', output, '-F', 'event,period', '-G'], { encoding: 'utf8' });
  if (perf.error !== undefined) return;
  const periods = [...perf.stdout.matchAll(/(\d+) offcpu-time:/g)].map(([, period]) => Number(period));
  assert.ok(periods.length > 0, perf.stdout);
  assert.ok(Math.abs(periods.reduce((sum, period) => sum + period, 0) / 1e9 - total) < 1e-6);
});

test("without what is ready and without kernel stacks it is perf's own meaning", { skip }, async () => {
  const { own, inAll } = await recorded('perf', {
    command: ['sleep', '0.2'],
    formats: ['off-cpu,ready=no,kernel-stacks=no'],
  });
  assert.equal(inAll('sleep', /schedule/), 0);
  assert.ok(own('sleep', /nanosleep/) > 0.18);
});

const SPIN = 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done';

test('two that share a CPU: each is off it while the other runs', {
  skip: skip || (spawnSync('taskset', ['-c', '0', 'true']).status === 0 ? false : 'needs taskset'),
}, async () => {
  const { profile, lines } = await recorded('ready', {
    command: ['taskset', '-c', '0', 'sh', '-c', `(${SPIN}) & (${SPIN}) & wait`],
    events: 'task-clock',
    period: 1_000_000,
    formats: ['ring', 'off-cpu'],
  });
  const ready = Number(/ready ([\d.]+) s/.exec(lines)?.[1] ?? 0);
  const running = Number(profile.events[0]!.sumPeriod) / 1e9;
  // Alone on the CPU the two would wait as long as they run; others make it longer,
  // and the second may begin late.
  assert.ok(ready > running * 0.5, `${lines}; ran for ${running} s`);
});

test('who sleeps from before the recording until after it counts, with where it was', { skip }, async (t) => {
  const sleeper = spawn('sleep', ['100']);
  t.after(() => sleeper.kill());
  await untilAsleep(sleeper.pid!);
  const { own, total, lines } = await recorded('before', {
    pids: [sleeper.pid!],
    command: ['sleep', '0.3'],
    formats: ['off-cpu'],
  });
  assert.ok(total > 0.27 && total < 3, `${total} s`);
  assert.match(lines, /from 1 thread that was still off the CPU at the end/);
  assert.ok(Math.abs(own('sleep', /nanosleep/) - total) < 1e-6);
});

test('who is not of the target does not count', { skip }, async (t) => {
  const other = spawn('sh', ['-c', 'while sleep 0.01; do :; done']);
  t.after(() => other.kill());
  const { profile } = await recorded('target', { command: ['sleep', '0.2'], formats: ['off-cpu'] });
  const event = profile.events.findIndex((one) => one.name === 'offcpu-time');
  const { rows } = topFunctions(profile, { event, sort: ['pid'] });
  assert.equal(rows.length, 1);
  assert.notEqual(rows[0]!.pid, other.pid);
});

test('what was before the recording is enabled does not count', { skip }, async (t) => {
  const sleeper = spawn('sleep', ['100']);
  t.after(() => sleeper.kill());
  await untilAsleep(sleeper.pid!);
  const { total, lines } = await recorded('never', {
    pids: [sleeper.pid!],
    command: ['sleep', '0.2'],
    formats: ['off-cpu'],
    delayMs: 600_000,
  });
  assert.equal(total, 0);
  assert.equal(lines, '');
});

test('all that sleep from before until after have the same time: that of the recording', {
  skip,
}, async (t) => {
  const sleepers = [spawn('sleep', ['100']), spawn('sleep', ['100']), spawn('sleep', ['100'])];
  t.after(() => sleepers.map((one) => one.kill()));
  for (const { pid } of sleepers) await untilAsleep(pid!);
  const { profile } = await recorded('window', {
    pids: sleepers.map(({ pid }) => pid!),
    command: ['sleep', '0.2'],
    formats: ['off-cpu'],
  });
  const event = profile.events.findIndex((one) => one.name === 'offcpu-time');
  const { rows } = topFunctions(profile, { event, sort: ['pid'] });
  assert.equal(rows.length, 3);
  assert.equal(new Set(rows.map(({ selfPeriod }) => selfPeriod)).size, 1);
});

test('new threads count where they are followed', { skip }, async () => {
  const threadsOf = async (inherit: boolean) => {
    const { profile } = await recorded('threads', {
      // Threads of its own sleep until there is work.
      command: [process.execPath, '-e', 'setTimeout(() => {}, 100)'],
      formats: ['off-cpu,ready=no'],
      inherit,
    });
    const event = profile.events.findIndex((one) => one.name === 'offcpu-time');
    return topFunctions(profile, { event, sort: ['pid', 'tid'] }).rows;
  };
  assert.ok((await threadsOf(true)).length > 1);
  const alone = await threadsOf(false);
  assert.equal(alone.length, 1);
  assert.equal(alone[0]!.tid, alone[0]!.pid);
});

test('a delay does not hold for programs that do not heed it, and that is said', { skip }, async () => {
  const output = join(folder, 'delay.data');
  const notesOf = async (formats: NonNullable<RecordOptions['formats']>, events?: string) => {
    const { notes } = await record({
      command: ['sleep', '0.1'],
      ...(events === undefined ? {} : { events }),
      formats,
      delayMs: 50,
      output,
    });
    return notes.filter(({ kind }) => kind === 'format-early').map(({ text }) => text);
  };
  const heedless = defineFormat({
    name: 'heedless',
    version: 1,
    summary: '',
    options: {},
    ownEvents: [{ name: 'own' }],
    plan: () => ({
      programs: [
        {
          name: 'on_fork',
          attach: { kind: 'tracepoint', system: 'sched', name: 'sched_process_fork' },
          assemble: (_asm, { onlyTarget }) => onlyTarget(),
        },
      ],
    }),
    async *collect() {},
  });
  assert.match((await notesOf([{ format: heedless }])).join(), /^heedless begins at once/);
  const onTracepoint = await notesOf(['on-miss', 'ring'], 'sched:sched_switch');
  assert.match(onTracepoint.join(), /^on-miss on sched:sched_switch begins at once/);
  assert.deepEqual(await notesOf(['histogram', 'off-cpu'], 'task-clock'), []);
});
