/** Rows and lines by what tracepoints recorded: as perf has them, of the same file. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';
import { noTracepoints } from '../../../test/rights.ts';

const skip = perfIsMissing() || noTracepoints;

/** Shares and labels, in an order of their own: which of equal rows comes first is chance. */
function rows(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .sort();
}

/** Of a report of several events the rows of one. */
function partOf(text: string, event: string): string {
  const parts = text.split(/(?=^# Samples: )/m);
  return parts.find((part) => part.split('\n', 1)[0]!.includes(`'${event}'`)) ?? '';
}

describe('rows of tracepoints', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-trace-keys-'));
  const file = join(folder, 'perf.data');
  before(() => {
    const events = 'raw_syscalls:sys_enter,sched:sched_process_exit';
    const { status, stderr } = spawnSync(
      'perf',
      ['record', '-q', '-e', events, '-c', '1', '-o', file, '--', 'sh', '-c', 'ls / | sort | wc -l'],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const [keys, event] of [
    ['trace', 'raw_syscalls:sys_enter'],
    ['raw_syscalls:sys_enter.id', 'raw_syscalls:sys_enter'],
    ['sys_enter.id,comm', 'raw_syscalls:sys_enter'],
    // perf's shorter words: a field of any event, all fields of one.
    ['id', 'raw_syscalls:sys_enter'],
    ['prio,id', 'raw_syscalls:sys_enter'],
    ['prio,id,comm', 'sched:sched_process_exit'],
    ['sched_process_exit.*', 'sched:sched_process_exit'],
    ['trace_fields', 'sched:sched_process_exit'],
    ['sched:sched_process_exit.prio,comm', 'sched:sched_process_exit'],
    // An event by its place.
    ['%2.*', 'sched:sched_process_exit'],
    ['%1.id,comm', 'raw_syscalls:sys_enter'],
    ['%1.id/raw', 'raw_syscalls:sys_enter'],
  ] as const)
    test(`--sort ${keys}`, async () => {
      const ours = await counterpoint('report', '-i', file, '--sort', keys);
      assert.equal(ours.status, 0, ours.err);
      const theirs = rows(partOf(perf('report', '-i', file, '--stdio', '--sort', keys), event));
      assert.ok(theirs.length > 0);
      assert.deepEqual(rows(partOf(ours.out, event)), theirs);
    });

  test('addresses of code have the names of functions, in rows, lines and JSON', async () => {
    const code = join(folder, 'code.data');
    const events = 'kmem:kmalloc,timer:hrtimer_start';
    perf('record', '-q', '-e', events, '-c', '1', '-o', code, '--', 'sh', '-c', 'timeout 5 ls / | wc -l');
    const { out } = await counterpoint('script', '-i', code);
    assert.match(out, /kmalloc: .*call_site=\w+\+0x[0-9a-f]+ ptr=/);
    assert.match(out, /hrtimer_start: .*function=[a-z]\w+ /);
    assert.deepEqual(out.split('\n'), perf('script', '-i', code).split('\n'));
    const { out: lines } = await counterpoint('script', '-i', code, '--json');
    const [first] = lines.split('\n').map((line) => JSON.parse(line || '{}'));
    assert.ok(out.split('\n', 1)[0]!.endsWith(first.trace), first.trace);
    for (const keys of ['trace', 'call_site']) {
      const ours = await counterpoint('report', '-i', code, '--sort', keys);
      const theirs = perf('report', '-i', code, '--stdio', '--sort', keys);
      assert.match(ours.out, /\+0x[0-9a-f]+/);
      const [own, other] = [ours.out, theirs].map((text) => rows(partOf(text, 'kmem:kmalloc')));
      assert.deepEqual(own, other, keys);
    }
  });

  test('without a sample there are no rows, and no complaint', async () => {
    const empty = join(folder, 'empty.data');
    const args = ['record', '-q', '-e', 'syscalls:sys_enter_getppid', '-o', empty, '--', 'true'];
    assert.equal(spawnSync('perf', args).status, 0);
    for (const keys of [[], ['--sort', 'trace,comm']]) {
      const { status, out, err } = await counterpoint('report', '-i', empty, ...keys);
      assert.deepEqual([status, out, err], [0, '# No samples.\n', '']);
    }
    const { err } = await counterpoint('report', '-i', empty, '--sort', 'nope.x');
    assert.match(err, /no tracepoint of the recording has nope.x\n.*getppid.__syscall_nr/);
  });

  test('an array has the text of perf, which cuts it', async () => {
    const keys = ['--sort', 'raw_syscalls:sys_enter.args'];
    const [ours, theirs] = [
      (await counterpoint('report', '-i', file, ...keys)).out,
      perf('report', '-i', file, '--stdio', ...keys),
    ].map((text) => rows(partOf(text, 'raw_syscalls:sys_enter')));
    assert.match(ours![0]!, /% ARRAY\[([0-9a-f]{2}, ){47}[0-9a-f]{2}\]$/);
    assert.equal(ours!.length, theirs!.length);
    for (const [at, cut] of theirs!.entries()) assert.ok(ours![at]!.startsWith(cut), cut);
  });

  test('without call chains they are the default, as in perf', async () => {
    const { out } = await counterpoint('report', '-i', file);
    assert.deepEqual(rows(out), rows(perf('report', '-i', file, '--stdio')));
  });

  test('as JSON', async () => {
    const { out } = await counterpoint('report', '-i', file, '--sort', 'raw_syscalls:sys_enter.id', '--json');
    const [first] = JSON.parse(out).events[0].rows;
    assert.match(first.trace['raw_syscalls:sys_enter.id'], /^\d+$/);
  });

  test('a field that nothing has is refused, with those that there are', async () => {
    const { status, err } = await counterpoint('report', '-i', file, '--sort', 'sys_enter.ide');
    assert.equal(status, 1);
    assert.match(err, /no tracepoint of the recording has sys_enter\.ide/);
    assert.match(err, /raw_syscalls:sys_enter\.id/);
  });
});
