import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Probes on the kernel's functions, whose PMU most kernels outside of this guest lack. */

const SCRIPT = 'ls / | wc -l > /dev/null && ls / | wc -l > /dev/null';
const FORKS = 4;

test('a kprobe follows the children of a shell, which forks as ever, as often as the tracepoint says', () => {
  const events = 'kprobe:kernel_clone,kretprobe:kernel_clone,kprobe:kernel_clone+8,sched:sched_process_fork';
  const words = ['stat', '-x,', '-e', events, '--', 'sh', '-c', SCRIPT];
  const { status, stderr } = spawnSync('counterpoint', words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const counts = [...stderr.matchAll(/^(\d+),,/gm)].map(([, count]) => Number(count));
  assert.deepEqual(counts, [FORKS, FORKS, FORKS, FORKS], stderr);
  assert.doesNotMatch(stderr, /may miss/);
  assert.equal(readFileSync('/sys/kernel/tracing/kprobe_events', 'utf8'), '');
});
