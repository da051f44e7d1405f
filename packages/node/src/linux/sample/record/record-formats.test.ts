/** Recordings with sampling formats, on the real kernel, read again by us and by perf. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { LossEntry } from '@counterpoint/core/loss';
import type { Profile } from '@counterpoint/core/profile';
import { topFunctions } from '@counterpoint/core/query';
import { isSample } from '@counterpoint/core/records';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { besideCuts } from '../../../test/losses.ts';
import { record } from './record.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-formats-'));
after(() => rmSync(folder, { recursive: true }));

const COMMAND = ['sh', '-c', 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'];

/** How much of an event's samples lies in the C library, in percent. */
function shareOf(profile: Profile, event: number): number {
  const { rows } = topFunctions(profile, { event, sort: ['dso'] });
  return rows.find(({ dso }) => /libc/.test(dso ?? ''))?.selfPercent ?? 0;
}

test('histogram beside ring: the same functions, and perf reads both', { skip }, async () => {
  const output = join(folder, 'both.data');
  const result = await record({
    command: COMMAND,
    events: 'task-clock',
    period: 200_000,
    formats: ['histogram', { format: 'ring' }],
    output,
  });
  assert.equal(result.formats.length, 2);
  const [histogram, ring] = result.formats;
  assert.equal(histogram?.name, 'histogram');
  assert.ok(histogram.overflows > 500n, `${histogram.overflows} overflows`);
  assert.ok(histogram.samples > 10 && BigInt(histogram.samples) <= histogram.overflows);
  assert.equal(ring?.runs, 0n);
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const [counted, sampled] = [0, 1].map((event) => shareOf(profile, event));
  // The same program at the same rate: what one of them sees often, the other does, too.
  assert.ok(Math.abs(counted! - sampled!) < 15, `${counted} and ${sampled} of libc`);
  const perf = spawnSync(
    'perf',
    ['report', '-i', output, '--stdio', '-F', 'overhead,comm', '--sort', 'comm'],
    {
      encoding: 'utf8',
    },
  );
  if (perf.error === undefined) {
    assert.equal(perf.status, 0, perf.stderr);
    assert.match(perf.stdout, /sh/);
  }
});

test('what is wrong with a format is said before the command runs', { skip }, async () => {
  const marker = join(folder, 'ran');
  const command = ['touch', marker];
  const attempt = (formats: string[]) =>
    record({ command, events: 'task-clock', formats, output: join(folder, 'none.data') });
  await assert.rejects(attempt(['histgram']), { code: 'ERR_NO_FORMAT', message: /did you mean histogram/ });
  await assert.rejects(attempt(['histogram,max-entry=5']), { code: 'ERR_FORMAT_OPTION' });
  const realtime = { events: 'task-clock', clockId: 0, output: join(folder, 'none.data') };
  await assert.rejects(record({ ...realtime, command, formats: ['on-miss'] }), {
    code: 'ERR_FORMAT_CLOCK',
    message: /on-miss has times on the clock monotonic/,
  });
  const broken = join(folder, 'broken.ts');
  writeFileSync(
    broken,
    "export default { name: 'broken', version: 1, summary: '', options: {}, plan: () => ({}), async *collect() {},\n" +
      "  onOverflow(asm: { load: Function }) { throw new Error('no idea'); } };\n",
  );
  await assert.rejects(attempt([broken]), {
    code: 'ERR_FORMAT_HANDLER',
    message: /^\S+broken\.ts:2:47: the sampling format broken threw .* no idea/,
  });
  assert.notEqual(spawnSync('ls', [marker]).status, 0);
});

test('what a format throws is told with its name and its line', { skip }, async () => {
  const attempt = (name: string, text: string) => {
    const path = join(folder, `${name}.ts`);
    writeFileSync(
      path,
      `import { defineFormat } from 'counterpoint/formats';\nconst base = { name: '${name}', version: 1, summary: '', options: {} } as const;\n${text}\n`,
    );
    const output = join(folder, 'none.data');
    // What is thrown after the counters ran is in the result, beside what was recorded.
    return record({ command: ['true'], events: 'task-clock', formats: [path], output }).then(({ error }) => {
      if (error !== null) throw error;
    });
  };
  const rest = 'async *collect() { yield 1; }, onOverflow: (asm) => asm.dropRecord()';
  const cases: [string, string, string, RegExp][] = [
    [
      'plans',
      `export default defineFormat({ ...base, plan() { throw new Error('boom'); }, ${rest} });`,
      'ERR_FORMAT_PLAN',
      /^\S+plans\.ts:3:\d+: the sampling format plans threw in its plan\(\): boom$/,
    ],
    [
      'waits',
      `export default { ...base, plan: async () => ({}), ${rest.replace('(asm)', '(asm: { dropRecord(): void })')} };`,
      'ERR_FORMAT_PLAN',
      /^the plan of the sampling format waits is a promise, not an object$/,
    ],
    [
      'says',
      `export default defineFormat({ ...base, plan: () => ({}), ${rest}, describe() { throw new Error('boom'); } });`,
      'ERR_FORMAT_COLLECT',
      /^\S+says\.ts:3:\d+: the sampling format says failed when its results were read: boom$/,
    ],
    [
      'gives',
      `export default { ...base, plan: () => ({}), ${rest.replace('(asm)', '(asm: { dropRecord(): void })')}, *toSamples() { yield 'hello'; } };`,
      'ERR_FORMAT_SAMPLE',
      /^toSamples of the format gives gives 'hello'/,
    ],
    [
      'choices',
      `export default { ...base, options: { size: { type: 'large', default: 1, help: '' } }, plan: () => ({}), ${rest.replace('(asm)', '(asm: { dropRecord(): void })')} };`,
      'ERR_FORMAT_MODULE',
      /its option size is of type large, not one of count, bytes,/,
    ],
  ];
  for (const [name, text, code, message] of cases)
    await assert.rejects(attempt(name, text), { code, message });
});

test('stacks tell when, by an interval', { skip }, async () => {
  const samplesOf = async (interval: number) => {
    const output = join(folder, `stacks-${interval}.data`);
    const { formats, loss } = await record({
      command: COMMAND,
      events: 'task-clock',
      period: 500_000,
      formats: [{ format: 'stacks', options: { interval } }],
      output,
    });
    assert.deepEqual(besideCuts(loss), []);
    await using recording = await openRecording(output);
    const rows = new Map<string, number>();
    let periods = 0n;
    for await (const { record: one } of recording.records()) {
      if (!isSample(one)) continue;
      const { pid, ip, callchain } = one.sample;
      const key = [pid, ip, ...(callchain ?? [])].join(' ');
      rows.set(key, (rows.get(key) ?? 0) + 1);
      periods += one.sample.period!;
    }
    assert.equal(periods, formats[0]!.overflows * 500_000n);
    return Math.max(...rows.values());
  };
  // The loop takes a second: a stack is counted once on each CPU, or in each twentieth of it.
  const [once, often] = [await samplesOf(0), await samplesOf(50)];
  assert.ok(once <= availableParallelism() && often >= once + 2, `${once} and ${often} times`);
});

test('results of a format that has no form for them are told', { skip }, async () => {
  const path = join(folder, 'mute.ts');
  writeFileSync(
    path,
    `import { defineFormat } from 'counterpoint/formats';
export default defineFormat({
  name: 'mute', version: 1, summary: '', options: {}, plan: () => ({}),
  onOverflow: (asm) => asm.dropRecord(),
  async *collect() { yield 1; yield 2; },
});`,
  );
  const { formats } = await record({
    command: [process.execPath, '-e', '0'],
    events: 'page-faults',
    formats: [{ format: path }],
    output: join(folder, 'mute.data'),
  });
  assert.deepEqual(formats[0]!.lines, [
    'mute gave 2 results that nothing shows: a format needs toSamples (or toRows) for report, describe for lines here',
  ]);
});

test('a size limit holds for what formats write, too', { skip }, async () => {
  const maxSizeBytes = 200_000;
  const result = await record({
    systemWide: true,
    events: 'cpu-clock',
    period: 50_000,
    // A half is handed over at every 64th overflow.
    formats: [{ format: 'double-buffer', options: { records: 4096, threshold: 2 } }],
    maxSizeBytes,
    buildIds: false,
    signal: AbortSignal.timeout(20_000),
    output: join(folder, 'limited.data'),
  });
  assert.equal(result.stopped, 'size-limit');
  assert.ok(result.bytes >= maxSizeBytes);
});

/** The ledger without its times. */
function told(loss: readonly LossEntry[]): unknown[] {
  return loss.map(({ kind, event, cpu, count, exact }) => [kind, event, cpu, count, exact]);
}

for (const way of ['a file', 'a pipe'])
  test(`what formats lose is in the recording: ${way}`, { skip }, async () => {
    const path = join(folder, `lossy-${way.slice(2)}.data`);
    let output = path;
    let drained: Promise<unknown> = Promise.resolve();
    if (way === 'a pipe') {
      output = join(folder, 'fifo');
      spawnSync('mkfifo', [output]);
      const cat = spawn('cat', [output], { stdio: ['ignore', openSync(path, 'w'), 'inherit'] });
      drained = new Promise((resolve) => cat.on('exit', resolve));
    }
    const result = await record({
      command: COMMAND,
      events: 'task-clock',
      period: 200_000,
      formats: ['stacks,max-stacks=2', 'histogram,max-entries=2'],
      output,
    });
    await drained;
    const full = result.loss.filter(({ kind }) => kind === 'format-map-full');
    assert.ok(full.length > 0, JSON.stringify(result.loss));
    await using forStats = await openRecording(path);
    const stats = await forStats.stats();
    assert.deepEqual(told(stats.loss), told(result.loss));
    await using forProfile = await openRecording(path);
    const { profile } = await forProfile.profile();
    assert.deepEqual(told(profile.loss), told(result.loss));
    const missing = stats.events.reduce((sum, { lost }) => sum + Number(lost), 0);
    // What is cut or has no callers is a sample all the same.
    const whole = besideCuts(result.loss).filter(({ kind }) => kind !== 'format-stack-collision');
    assert.equal(
      missing,
      whole.reduce((sum, { count }) => sum + Number(count), 0),
    );
    const perf = spawnSync('perf', ['report', '-i', path, '--stdio'], { encoding: 'utf8' });
    if (perf.error !== undefined) return;
    assert.equal(perf.status, 0, perf.stderr);
    // perf's own words on its own count.
    assert.match(perf.stdout + perf.stderr, new RegExp(`Total Lost Samples: ${missing}\\b`));
  });

test('samples that were read late are in order all the same, for perf, too', { skip }, () =>
  onTime(recordLate),
);

async function recordLate(): Promise<void> {
  const path = join(folder, 'late.data');
  const result = await record({
    command: COMMAND,
    systemWide: true,
    events: 'cpu-clock',
    period: 500_000,
    // Nobody is woken before the end, and by then rounds of the rings have been written.
    formats: ['on-miss,ring=16M', { format: 'ring' }],
    flushIntervalMs: 20,
    output: path,
  });
  assert.ok(result.formats[0]!.samples > 100 && result.samples > 2 * 100);
  await using recording = await openRecording(path);
  const { damage, records } = await recording.stats();
  assert.deepEqual(damage, []);
  // A round that was written too early depends on who is woken when.
  assertOnTime((records['EVENT_TYPE'] ?? 0) > 0, 'no round was taken back');
  const perf = spawnSync('perf', ['report', '-i', path, '--stdio'], { encoding: 'utf8' });
  if (perf.error === undefined) assert.doesNotMatch(perf.stderr, /out of order/);
}

test('what is no format is named', { skip }, async () => {
  const attempt = (format: unknown) =>
    record({ command: ['true'], formats: [format as string], output: join(folder, 'none.data') });
  await assert.rejects(attempt({}), { code: 'ERR_FORMAT_OPTION', message: /format/ });
  await assert.rejects(attempt({ format: {} }), { code: 'ERR_FORMAT_MODULE', message: /name is missing/ });
  await assert.rejects(attempt({ format: 'histogram', option: {} }), { message: /did you mean options/ });
  await assert.rejects(attempt({ format: 'histogram', options: { interval: 'soon' } }), {
    code: 'ERR_FORMAT_OPTION',
  });
});
