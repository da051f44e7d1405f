/** The examples of the repository, on the real kernel. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openRecording } from '../open/index.ts';
import { record } from '../record/index.ts';

const EXAMPLES = fileURLToPath(new URL('../../../../examples/formats/', import.meta.url));
const hasTracepoints = existsSync('/sys/kernel/tracing/events/raw_syscalls/sys_enter/id');
const skip = hasTracepoints ? false : 'needs root and tracefs (mount -t tracefs tracefs /sys/kernel/tracing)';
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

test('the format of the tutorial', { skip }, async () => {
  const tutorial = readFileSync(new URL('../../../../docs/sampling-formats.md', import.meta.url), 'utf8');
  const code = /```ts\n([\s\S]*?)```/.exec(tutorial)?.[1];
  const path = join(folder, 'by-thread.ts');
  writeFileSync(path, code ?? '');
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
