/**
 * Recordings made in a pid namespace, as in a container, where the kernel's own numbers of
 * processes are others than ours.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Profile } from '@counterpoint/core/profile';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { IN_PID_NAMESPACE, noPidNamespace } from '../../../test/pid-namespace.ts';
import { noTracepoints } from '../../../test/rights.ts';

const skip = noTracepoints || noPidNamespace();
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-pid-namespace-'));
const output = join(folder, 'x.data');
after(() => rmSync(folder, { recursive: true }));

const SPIN = 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done';
const LONGEST_MS = 120_000;

/** What our `record` says in a namespace. `before` runs there first, in the shell that becomes it. */
function record(words: readonly string[], before = ''): string {
  const ours = [process.execPath, ...commandLineProcess(), 'record', '-o', output, ...words];
  const [program, ...options] = [...IN_PID_NAMESPACE, 'sh', '-c', `${before}\n"$@"`, 'sh', ...ours];
  const { status, stderr } = spawnSync(program!, options, { encoding: 'utf8', timeout: LONGEST_MS });
  assert.equal(status, 0, stderr);
  return stderr;
}

async function recorded(): Promise<Profile> {
  await using recording = await openRecording(output);
  return (await recording.profile()).profile;
}

/** Rows of an event by process. */
function processes(profile: Profile, event: number) {
  return topFunctions(profile, { event, sort: ['pid', 'comm'] }).rows;
}

describe('in a pid namespace', { skip }, () => {
  // Beside the kernel's own records, in one recording.
  for (const format of ['histogram', 'stacks', 'stacks,keep=20', 'double-buffer', 'on-miss'])
    test(`${format} has the processes that the kernel's records have`, async () => {
      record([
        ...['-e', 'task-clock:u', '-c', '500000', '--format', format, '--format', 'ring'],
        ...['--', 'sh', '-c', SPIN],
      ]);
      const profile = await recorded();
      const [counted, sampled] = [0, 1].map((event) => processes(profile, event));
      assert.equal(counted!.length, 1, JSON.stringify(counted));
      assert.deepEqual(
        counted!.map(({ pid, comm }) => [pid, comm]),
        sampled!.map(({ pid, comm }) => [pid, comm]),
      );
      // And so what its addresses are.
      const { rows } = topFunctions(profile, { event: 0, sort: ['dso'] });
      assert.ok(
        rows.every(({ dso }) => dso !== null && dso !== '[unknown]'),
        JSON.stringify(rows),
      );
    });

  test('off-cpu has the command and its children', async () => {
    record(['--format', 'off-cpu,ready=no', '--', 'sh', '-c', 'sleep 0.4; true']);
    const rows = processes(await recorded(), 0);
    const slept = rows.filter(({ comm }) => comm === 'sleep');
    assert.equal(slept.length, 1, JSON.stringify(rows));
    assert.ok(Number(slept[0]!.selfPeriod) > 0.36e9, JSON.stringify(rows));
    // The shell that waits, and nobody else.
    assert.deepEqual(
      [...new Set(rows.map(({ comm }) => comm))].sort(),
      ['sh', 'sleep'],
      JSON.stringify(rows),
    );
  });

  test('off-cpu has who sleeps from before the recording until after it', async () => {
    const lines = record(['--format', 'off-cpu,ready=no', '-p', '2', '--', 'sleep', '0.3'], 'sleep 100 &');
    assert.match(lines, /from 1 thread that was still off the CPU at the end/);
    const rows = processes(await recorded(), 0);
    assert.deepEqual(
      rows.map(({ pid, comm }) => [pid, comm]),
      [[2, 'sleep']],
    );
    assert.ok(Number(rows[0]!.selfPeriod) > 0.27e9, rows[0]!.selfPeriod);
  });

  test('off-cpu has who sleeps from before the recording and wakes up, before and after', async () => {
    const fifo = join(folder, 'fifo');
    assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
    const wake = ['sh', '-c', `sleep 0.3; echo > '${fifo}'; sleep 0.3`];
    const lines = record(
      ['--format', 'off-cpu,ready=no', '-p', '2', '--', ...wake],
      `(read x < '${fifo}'; exec sleep 100) &`,
    );
    assert.match(lines, /from 1 thread that was still off the CPU at the end/);
    const [slept, unfinished] = [/sleeping ([\d.]+) s/, /([\d.]+) s of this/].map((what) =>
      Number(what.exec(lines)?.[1]),
    );
    assert.ok(slept! - unfinished! > 0.27 && unfinished! > 0.2, lines);
    const rows = processes(await recorded(), 0);
    assert.deepEqual([...new Set(rows.map(({ pid }) => pid))], [2]);
  });

  test('the examples know the target', async () => {
    const format = fileURLToPath(
      new URL('../../../../../../examples/formats/syscall-latency.ts', import.meta.url),
    );
    const command = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=4K', 'count=500', 'status=none'];
    const calls = [
      ...record(['--format', format, '--', 'sh', '-c', `${command.join(' ')}; true`]).matchAll(
        / (\d+) #+$/gm,
      ),
    ];
    const total = calls.reduce((sum, [, count]) => sum + Number(count), 0);
    // A read and a write each, in a child of the command.
    assert.ok(total >= 1000 && total < 1400, `${total} calls`);
  });
});
