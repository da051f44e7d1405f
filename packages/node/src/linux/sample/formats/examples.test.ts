/** The examples of the repository, on the real kernel. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openRecording } from '../../../host/open/index.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { noTracepoints } from '../../../test/rights.ts';
import { record } from '../record/index.ts';

const EXAMPLES = fileURLToPath(new URL('../../../../../../examples/formats/', import.meta.url));
const skip = noTracepoints;
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-examples-'));
after(() => rmSync(folder, { recursive: true }));

const READS = 500;
const COMMAND = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=128K', `count=${READS}`, 'status=none'];

test('syscall-latency: as many calls as dd makes, and nobody else', { skip }, async () => {
  const { formats, loss } = await record({
    command: COMMAND,
    formats: [join(EXAMPLES, 'syscall-latency.ts')],
    output: join(folder, 'latency.data'),
  });
  const calls = formats[0]!.lines
    .map((line) => /([\d.]+) (?:ns|us|ms|s) +(\d+) #+$/.exec(line))
    .reduce((sum, match) => sum + Number(match?.[2]), 0);
  // A read and a write each, and a few score for loading it.
  assert.ok(calls >= 2 * READS && calls < 2 * READS + 300, `${calls} calls`);
  assert.deepEqual(loss, []);
});

test('threshold: large reads only, with what they read as their period', { skip }, async () => {
  const output = join(folder, 'threshold.data');
  const { samples } = await record({
    command: COMMAND,
    events: 'syscalls:sys_exit_read',
    formats: [`${join(EXAMPLES, 'threshold.ts')},field=ret,least=128K`],
    output,
  });
  assert.equal(samples, READS);
  await using recording = await openRecording(output);
  const { events } = await recording.stats();
  assert.equal(events.find(({ name }) => name === 'syscalls:sys_exit_read')?.samples, READS);
});

/** A complete format of the tutorial, as its readers save it. */
function saveFromTutorial(name: string): string {
  const tutorial = readFileSync(
    new URL('../../../../../../docs/sampling-formats.md', import.meta.url),
    'utf8',
  );
  const blocks = [...tutorial.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!);
  const path = join(folder, `${name}.ts`);
  writeFileSync(path, blocks.find((code) => code.includes(`name: '${name}',\n  version`)) ?? '');
  return path;
}

test('the format of the tutorial', { skip }, async () => {
  const path = saveFromTutorial('by-thread');
  const { formats } = await record({
    command: ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'],
    events: 'task-clock',
    period: 200_000,
    formats: [`${path},most=100`],
    output: join(folder, 'tutorial.data'),
  });
  const counts = formats[0]!.lines.map((line) => BigInt(/^thread \d+: (\d+) times$/.exec(line)![1]!));
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0n),
    formats[0]!.overflows,
  );
  assert.ok(formats[0]!.overflows > 50n);
});

test('the suspending format of the tutorial, and what the command line says of it', { skip }, async () => {
  const path = saveFromTutorial('moments');
  const options = {
    command: ['sh', '-c', 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'],
    events: 'task-clock:u',
    period: 100_000,
    inherit: false,
    output: join(folder, 'moments.data'),
  };
  const { formats, loss, samples } = await record({ ...options, formats: [`${path},interval=20ms`] });
  const [{ lines, suspended }] = formats as [(typeof formats)[0]];
  assert.ok(lines.length >= 3, `${lines.length} moments`);
  for (const line of lines) assert.match(line, /^CPU \d+: (?:[0-9a-f]+ < ){7}[0-9a-f]+$/);
  // The last one may have no restart.
  assert.ok(suspended!.times - lines.length <= 1 && suspended!.times >= lines.length);
  const lost = loss.filter(({ kind }) => kind === 'format-suspended');
  assert.deepEqual(
    lost.map(({ count }) => count),
    [String(suspended!.ns)],
  );
  assert.equal(samples, 0);
  const words = ['record', '--no-inherit', '-e', options.events, '-c', '100000', '-o', options.output];
  const run = (more: string[]) =>
    spawnSync(process.execPath, [...commandLineProcess(), ...words, ...more, '--', ...options.command], {
      encoding: 'utf8',
    });
  const { status, stderr } = run(['--format', `${path},interval=20ms`]);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /moments: \d+ overflows.*, suspended \d+ times for [\d.]+ (?:ms|s) \]/);
  assert.match(stderr, /LOST: [\d.]+ (?:ms|s) of time in which a format had its counters suspended/);
  const report = await counterpoint('report', '-i', options.output);
  assert.match(report.out, /^# No samples: the sampling format kept none\. .*asm\.keepRecord\(\)\.$/m);
  // By default children are followed, and those counters cannot be stopped.
  words.splice(1, 1);
  const refused = run(['--format', path]);
  assert.notEqual(refused.status, 0);
  assert.match(refused.stderr, /cannot stop task-clock:u at its overflow.*--no-inherit/s);
});
