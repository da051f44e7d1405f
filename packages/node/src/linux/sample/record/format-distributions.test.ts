/** The formats of one recording, against each other and against the kernel's own counts. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Profile } from '@counterpoint/core/profile';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { agreement } from '../../../test/agreement.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { besideCuts } from '../../../test/losses.ts';
import { listMaps, listPrograms } from '../../kernel/bpf/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { record } from './record.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-formats-'));
after(() => rmSync(folder, { recursive: true }));

/** Parses, compresses, sorts, recurses, and calls the kernel, for so many milliseconds of CPU time. */
const WORK = `
  const { deflateSync } = require('node:zlib');
  const { readFileSync } = require('node:fs');
  const fibonacci = (n) => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
  const table = Array.from({ length: 300 }, (_, i) => ({ i, text: 'x'.repeat(i % 50), list: [i, i * 2] }));
  while (process.cpuUsage().user < 1000 * Number(process.argv[1])) {
    fibonacci(17);
    const text = JSON.stringify(table);
    JSON.parse(text);
    deflateSync(text);
    readFileSync('/proc/self/maps');
    Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001).sort((a, b) => a - b);
  }`;
const work = (ms: number) => [process.execPath, '-e', WORK, String(ms)];
const PERIOD_NS = 100_000;

/** Overflows by function, of one event. */
function byFunction(profile: Profile, event: number): Map<string, number> {
  const { rows } = topFunctions(profile, { event, sort: ['dso', 'symbol'] });
  const counts = new Map<string, number>();
  // Code that a compiler made twice has two rows of one name.
  for (const { dso, symbol, selfPeriod } of rows) {
    const name = `${dso} ${symbol}`;
    counts.set(name, (counts.get(name) ?? 0) + Number(selfPeriod) / PERIOD_NS);
  }
  return counts;
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

test('ring, histogram, stacks, kept stacks and the double buffer agree within sampling error', {
  skip,
}, async () => {
  const output = join(folder, 'distributions.data');
  const formats = [
    'ring',
    'histogram',
    'stacks',
    'stacks,keep=3',
    'double-buffer',
    'histogram,interval=50ms',
  ];
  const result = await record({
    command: work(1000),
    events: 'cpu-clock',
    period: PERIOD_NS,
    formats,
    output,
  });
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const counted = formats.map((_, event) => byFunction(profile, event));
  const [ring, ...others] = counted as [Map<string, number>, ...Map<string, number>[]];
  assert.ok(sum(ring) > 2000, `${sum(ring)} samples`);
  others.forEach((other, index) => {
    const { statistic, bound, cells } = agreement(ring, other);
    assert.ok(cells > 20, `${cells} functions`);
    assert.ok(statistic < bound, `${formats[index + 1]}: ${statistic} where ${bound} is the bound`);
    // Every overflow is a sample or a loss; the kept ones are samples of their own.
    const { name, overflows } = result.formats[index + 1]!;
    const lost = result.loss.filter(({ kind, event }) => kind === 'format-map-full' && event !== null);
    if (lost.length === 0) assert.equal(sum(other), Number(overflows), name);
  });
  // The bound is one that a shift of eight samples in a hundred does not stay below.
  const shifted = new Map(ring);
  const [first, second] = [...ring.keys()] as [string, string];
  const moved = Math.round(sum(ring) * 0.08);
  shifted.set(first, ring.get(first)! + moved);
  shifted.set(second, Math.max(0, ring.get(second)! - moved));
  const { statistic, bound } = agreement(ring, shifted);
  assert.ok(statistic > bound, `${statistic} where ${bound} is the bound`);
  const perf = spawnSync('perf', ['report', '-i', output, '--stdio', '-g', '--no-children'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (perf.error === undefined) {
    assert.equal(perf.status, 0, perf.stderr);
    assert.doesNotMatch(perf.stderr, /out of order/);
    assert.match(perf.stdout, /--\d+\.\d+%--/);
  }
});

test('what a process did before it executed another program is of the program before', { skip }, async () => {
  const output = join(folder, 'exec.data');
  const script =
    'i=0; while [ $i -lt 40 ]; do i=$((i+1)); /bin/ls / >/dev/null & wait; done; exec /bin/ls / >/dev/null';
  const formats = ['double-buffer', 'histogram', 'stacks', 'histogram,interval=5ms'];
  const result = await record({
    command: ['sh', '-c', script],
    ...{ events: 'page-faults:u', period: 1, formats, output },
  });
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const shares = formats.map((_, event) => {
    const { rows } = topFunctions(profile, { event, sort: ['comm', 'dso'] });
    return new Map(rows.map(({ comm, dso, selfPeriod }) => [`${comm} ${dso}`, Number(selfPeriod)]));
  });
  const [one, ...others] = shares as [Map<string, number>, ...Map<string, number>[]];
  assert.deepEqual(besideCuts(result.loss), []);
  assert.ok(one.get('sh libc.so.6')! > 200 && one.get('ls libc.so.6')! > 200, JSON.stringify([...one]));
  // One of them may have begun or ended a few page faults earlier.
  for (const [name, count] of one)
    for (const [index, other] of others.entries())
      assert.ok(
        Math.abs((other.get(name) ?? 0) - count) <= 20 + 0.02 * count,
        `${formats[index + 1]}: ${name} ${other.get(name)}, and not ${count}`,
      );
});

test('what the tables have no room for is in the ledger, and the rest is counted', { skip }, async () => {
  const lossesOf = async (formats: string[]) => {
    const output = join(folder, 'small.data');
    const result = await record({
      command: work(300),
      events: 'cpu-clock',
      period: PERIOD_NS,
      formats,
      output,
    });
    await using recording = await openRecording(output);
    const { profile } = await recording.profile();
    const lost = (kind: string) =>
      result.loss.filter((one) => one.kind === kind).reduce((total, { count }) => total + Number(count), 0);
    return {
      counted: sum(byFunction(profile, 0)),
      overflows: Number(result.formats[0]!.overflows),
      full: lost('format-map-full'),
      collisions: lost('format-stack-collision'),
      missed: lost('format-ring-full'),
      lines: result.formats[0]!.lines,
    };
  };
  // Of sixteen, halves are emptied nearly in time.
  for (const format of ['histogram', 'stacks']) {
    const { counted, overflows, full } = await lossesOf([`${format},max-entries=2`]);
    assert.ok(full > 10, `${full} lost of ${overflows}`);
    assert.equal(counted + full, overflows);
  }
  // A stack that finds no place is left out; its sample is there.
  const { counted, overflows, collisions } = await lossesOf(['stacks,max-stacks=2']);
  assert.ok(collisions > 100 && collisions <= overflows, `${collisions} of ${overflows}`);
  assert.equal(counted, overflows);
  // Two halves of two records, which nobody can drain in time.
  const blind = await lossesOf(['double-buffer,records=2,threshold=100']);
  assert.ok(blind.missed > 100 && blind.counted > 10, `${blind.missed} of ${blind.overflows}`);
  assert.equal(blind.counted + blind.missed, blind.overflows);
  const [, swaps, ms, missed] = /(\d+) swaps; both halves full for ([\d.]+) ms .* (\d+) overflows/.exec(
    blind.lines[0] ?? '',
  ) ?? [undefined];
  assert.ok(Number(swaps) > 5, blind.lines[0]);
  assert.equal(Number(missed), blind.missed);
  // Each missed overflow is a period apart from the next.
  const leastMs = ((blind.missed - Number(swaps)) * PERIOD_NS) / 1e6;
  assert.ok(Number(ms) > 0.5 * leastMs, `${blind.lines[0]}, at least ${leastMs} ms`);
});

test('a recorder that is killed leaves no program or map', { skip, timeout: 60_000 }, async () => {
  const NAMES =
    /^(?:histogram|stacks|halves|records|order|chains|chain_index|chain_state|loss_counters|since_kept)(?:_\d)?$/;
  const loaded = () =>
    [...listPrograms(realSys), ...listMaps(realSys)]
      .filter(({ name }) => NAMES.test(name))
      .map(({ id, name }) => `${name} ${id}`);
  const before = new Set(loaded());
  const words = ['record', '-a', '-q', '-e', 'cpu-clock', '-c', '1000000', '-o', join(folder, 'killed.data')];
  const formats = ['--format', 'histogram', '--format', 'stacks,keep=100'];
  const recorder = spawn(process.execPath, [...commandLineProcess(), ...words, ...formats], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(recorder, 'exit');
  try {
    const own = () => loaded().filter((one) => !before.has(one));
    // Two programs; four maps of each, three of call chains, and one count of what is not kept.
    for (let tries = 0; own().length < 14 && tries < 200; tries++) await delay(100);
    const found = own();
    assert.ok(found.length >= 14, found.join(', '));
    recorder.kill('SIGKILL');
    await exited;
    const left = () => loaded().filter((one) => found.includes(one));
    // The kernel frees maps a moment later.
    for (let tries = 0; left().length > 0 && tries < 100; tries++) await delay(100);
    assert.deepEqual(left(), []);
  } finally {
    recorder.kill('SIGKILL');
  }
});
