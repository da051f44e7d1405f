/** Whom and what `record` records by perf's flags; perf reads what comes of it. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { cgroupMounts } from '../../../linux/kernel/target/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const skip = perfIsMissing();
const isRoot = process.geteuid?.() === 0;
// Some 0.4 s of a CPU, a part of it in a child.
const BUSY = 'for i in $(seq 100); do $(:); done; i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done';

async function recorded(t: TestContext, ...words: string[]): Promise<string> {
  const data = join(temporaryFolder(t), 'perf.data');
  const { status, err } = await counterpoint('record', '-q', '-o', data, ...words);
  assert.equal(status, 0, err);
  return data;
}

/** A program that goes on until the test is over, once it runs. */
async function running(t: TestContext, command: string, args: string[]): Promise<number> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid!;
}

describe('record -s', { skip }, () => {
  test('each task that ends tells its counts, and perf report -T shows those of each', async (t) => {
    const data = await recorded(t, '-s', '-e', 'cpu-clock:u', '--', 'sh', '-c', 'sleep 0.01; true & wait');
    const counts = perf('report', '-D', '-i', data).match(/PERF_RECORD_READ: \d+ \d+ \S+ \d+/g) ?? [];
    const tasks = new Set(counts.map((line) => line.split(' ')[1]));
    assert.ok(tasks.size >= 2, `${counts.length} counts of ${tasks.size} tasks`);
    assert.match(perf('report', '-T', '-i', data, '--stdio'), /PID\s+TID\s+cpu-clock/);
  });
});

test('record -n: what is beside samples, and none of them; nothing says that it is empty', {
  skip,
}, async (t) => {
  const data = join(temporaryFolder(t), 'perf.data');
  const words = ['record', '-n', '-e', 'cpu-clock:u', '-F', '10000', '-o', data, '--', 'sh', '-c', BUSY];
  const { status, err } = await counterpoint(...words);
  assert.equal(status, 0, err);
  assert.doesNotMatch(err, /EMPTY/);
  const { records } = JSON.parse((await counterpoint('report', '--stats', '--json', '-i', data)).out);
  assert.equal(records.SAMPLE ?? 0, 0);
  assert.ok(records.MMAP2 > 0 && records.COMM > 0, 'maps and names of the command');
});

describe('record --synth', { skip }, () => {
  for (const [words, kinds] of [
    ['no', []],
    ['task', ['COMM']],
    ['mmap', ['COMM', 'MMAP2']],
    ['all', ['COMM', 'MMAP2']],
  ] as const)
    test(`${words}: of what runs already, ${kinds.join(' and ') || 'nothing'}, as perf`, async (t) => {
      const pid = await running(t, 'sh', ['-c', 'echo; exec sleep 60']);
      const command = ['-p', `${pid}`, '-e', 'cpu-clock:u', '--synth', words, '--', 'sleep', '0.01'];
      const theirs = join(temporaryFolder(t), 'theirs');
      perf('record', '-o', theirs, ...command);
      const told = (data: string) => {
        const lines = perf('report', '-D', '-i', data).match(/PERF_RECORD_(COMM|MMAP2)\b.*/g) ?? [];
        const own = lines.filter((line) => line.includes(`${pid}`));
        return [...new Set(own.map((line) => /RECORD_(\w+)/.exec(line)![1]!))].sort();
      };
      assert.deepEqual(told(await recorded(t, ...command)), [...kinds]);
      assert.deepEqual(told(theirs), [...kinds]);
    });

  test('a word that is none is refused with those that are', async () => {
    const { status, err } = await counterpoint('record', '--synth', 'maps', 'true');
    assert.equal(status, 129);
    assert.match(err, /no, task, mmap, cgroup, all/);
  });
});

describe('record -u', () => {
  const skipUsers = skip || (isRoot ? false : 'only root starts programs of other users');
  test('the processes of a user, by name or number, and of nobody else', { skip: skipUsers }, async (t) => {
    const busy = ['sh', '-c', 'echo; while :; do :; done'];
    await running(t, busy[0]!, busy.slice(1));
    const pid = await running(t, 'setpriv', ['--reuid', '12345', '--clear-groups', ...busy]);
    const data = await recorded(t, '-u', '12345', '-e', 'cpu-clock', '--', 'sleep', '0.3');
    const pids = new Set(perf('script', '-i', data, '-F', 'pid').trim().split(/\s+/));
    assert.deepEqual([...pids], [`${pid}`]);
  });

  test('a user that is none, or runs nothing, is told', async () => {
    const unknown = await counterpoint('record', '-u', 'no-such-user', 'true');
    assert.equal(unknown.status, 129);
    assert.match(unknown.err, /there is no user 'no-such-user'/);
    const idle = await counterpoint('record', '-u', '4000000000', 'true');
    assert.equal(idle.status, 1);
    assert.match(idle.err, /user 4000000000 runs no process now/);
  });
});

describe('record -G', () => {
  test('what runs in a control group, and nothing else', { skip: skip || !isRoot }, async (t) => {
    const group = join(cgroupMounts()[0] ?? '/nowhere', `counterpoint-test-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      return t.skip('no control group can be made here');
    }
    const busy = ['-c', 'echo; while :; do :; done'];
    const inside = spawn('sh', busy);
    t.after(async () => {
      inside.kill('SIGKILL');
      await once(inside, 'close');
      rmdirSync(group);
    });
    writeFileSync(join(group, 'cgroup.procs'), `${inside.pid}`);
    await running(t, 'sh', busy);
    const name = group.split('/').pop()!;
    const words = ['-a', '-e', 'cpu-clock', '-e', 'faults', '-G', name, '--', 'sleep', '0.4'];
    const data = await recorded(t, ...words);
    const pids = new Set(perf('script', '-i', data, '-F', 'pid').trim().split(/\s+/));
    assert.deepEqual([...pids], [`${inside.pid}`]);
    const plan = JSON.parse((await counterpoint('record', '--plan', '--json', ...words)).out);
    const groups = new Map(
      plan.opens.map((open: { event: string; cgroup: string }) => [open.event, open.cgroup]),
    );
    assert.deepEqual(
      [...groups],
      [
        ['cpu-clock', name],
        ['faults', name],
        ['dummy:u', null],
      ],
    );
  });

  test('groups that are none, too many, or beside a process, are told', async () => {
    for (const [words, pattern] of [
      [['-G', 'no/such/group', 'true'], /there is no control group no\/such\/group/],
      [['-G', '../x', 'true'], /is not a control group/],
      [['-e', 'cpu-clock', '-G', 'a,b', 'true'], /2 control groups for one event/],
      [['-G', 'a', '-p', `${process.pid}`], /exclude each other/],
    ] as const) {
      const { status, err } = await counterpoint('record', ...words);
      assert.notEqual(status, 0);
      assert.match(err, pattern);
    }
  });
});

describe('record --exclude-perf', () => {
  const events = ['-e', 'syscalls:sys_enter_pwritev', '-e', 'syscalls:sys_enter_write'];
  test('nothing that the recorder does is in the recording, of any of its threads', { skip }, async (t) => {
    const probe = spawnSync('perf', ['record', '-a', '-o', '/dev/null', ...events, 'true']);
    if (probe.status !== 0) return t.skip('tracepoints of the whole machine may not be recorded here');
    const ours = async (...words: string[]) => {
      const data = await recorded(
        t,
        '-a',
        ...events,
        ...words,
        '--',
        'sh',
        '-c',
        'echo > /dev/null; sleep 0.5',
      );
      const pids = perf('script', '-i', data, '-F', 'pid,event').split('\n');
      const own = pids.filter((line) => line.trim().startsWith(`${process.pid} `)).length;
      return { own, others: pids.length - own };
    };
    assert.ok((await ours()).own > 0, 'without it, the recorder records itself');
    const { own, others } = await ours('--exclude-perf');
    assert.equal(own, 0);
    assert.ok(others > 1, 'and others are there');
  });

  test('without a tracepoint it is refused', async () => {
    const { status, err } = await counterpoint('record', '-e', 'cpu-clock', '--exclude-perf', 'true');
    assert.equal(status, 1);
    assert.match(err, /only tracepoints can leave out what the recorder does/);
  });
});
