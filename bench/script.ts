/** Promise: `script` at least three times as fast as `perf script`, in samples per second. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, printComparison } from './measure.ts';
import { benchRecording, COUNTERPOINT } from './recording.ts';

export function benchScript(): void {
  const path = benchRecording();
  printComparison(
    compare(
      'script with call chains',
      [COUNTERPOINT, 'script', '-i', path],
      ['perf', 'script', '-i', path],
      3,
    ),
  );
  printComparison(
    compare('script -G', [COUNTERPOINT, 'script', '-G', '-i', path], ['perf', 'script', '-G', '-i', path], 3),
  );
  benchTracepoints();
}

/** Lines whose text is made of fields, without stacks: half a million of system calls and switches. */
function benchTracepoints(): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  const path = join(folder, 'tracepoints.data');
  const events = 'sched:sched_switch,sched:sched_waking,raw_syscalls:sys_enter';
  const load = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=250000'];
  try {
    const words = ['record', '-q', '-a', '-m', '4096', '-e', events, '-o', path, '--', ...load];
    const { status } = spawnSync('perf', words, { stdio: 'ignore' });
    if (status !== 0) throw new Error('perf record of tracepoints failed: it needs root');
    printComparison(
      compare(
        'script of tracepoints',
        [COUNTERPOINT, 'script', '-i', path],
        ['perf', 'script', '-i', path],
        3,
      ),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
