import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { lackingFor, noKernelPart, noTracepoints, noWholeCpus } from '../../../test/rights.ts';
import { masked, perfStat, shape } from '../../../test/stat-shape.ts';
import { hasEvents, until, waiting } from '../../../test/until-told.ts';

const noPerf = perfIsMissing();

/** Events that ran for less than they were open. None takes turns here: a CPU that is busy makes one late. */
const shares = (text: string): number => text.match(/\(\d+\.\d\d%\)/g)?.length ?? 0;

describe('the same command line gives what perf stat prints, but for digits', { skip: noPerf }, () => {
  for (const line of [
    'true',
    '-d true',
    '-ddd true',
    '-e faults true',
    '-e task-clock,faults,cs -- true',
    '-e {faults,cs},minor-faults true',
    '-a -e duration_time sleep 0.01',
    '-e cpu-clock:u,faults:u true',
    '-e syscalls:sys_enter_sched_get_priority_max,task-clock true',
    '-n true',
    '-a -e cpu-clock,faults sleep 0.01',
    '-a -A -e task-clock,faults sleep 0.01',
    '-a --per-core -e task-clock,faults sleep 0.01',
    '-a --per-socket -e task-clock,faults sleep 0.01',
    '-a --per-die -e task-clock,faults sleep 0.01',
    '-a --per-node -e task-clock,faults sleep 0.01',
    '-C 0 -e task-clock,faults sleep 0.01',
    '-a -A -e cycles,faults sleep 0.01',
    '-a --per-core -e cycles,faults sleep 0.01',
    '-C 1 -A -e cycles sleep 0.01',
    '-x, -a -A -e cycles,faults sleep 0.01',
    '-a -I 20 --interval-count 2 -e task-clock,faults sleep 0.2',
    '-a -A -I 20 --interval-count 1 -e task-clock,faults sleep 0.2',
    '-a --per-core -I 20 --interval-count 1 -e task-clock,faults sleep 0.2',
    '-a -I 20 --interval-count 1 --summary -e task-clock sleep 0.2',
    '-r 3 -e task-clock,cycles true',
    '-x, -ddd true',
    '-x; -r 2 -e cycles,task-clock true',
    '-x, -a -A -e task-clock,faults sleep 0.01',
    '-x, -a --per-core -e task-clock,faults sleep 0.01',
    '-x, -a -I 20 --interval-count 1 -e task-clock,faults sleep 0.2',
    '-x, -a -I 20 --interval-count 1 --summary -e task-clock,faults sleep 0.2',
    '--for-each-cgroup / -a -e faults dd if=/dev/zero of=/dev/null bs=1M count=50 status=none',
    '-e faults -G / -a sleep 0.01',
    '--for-each-cgroup / -a -e cycles,faults sleep 0.01',
  ]) {
    const words = line.split(' ');
    test(line, { skip: lackingFor(words) }, async () => {
      await onTime(async () => {
        const { err, out } = await counterpoint('stat', ...words);
        const theirs = perfStat(...words);
        assertOnTime(shares(err) === shares(theirs), `an event missed a moment:\n${err}${theirs}`);
        assert.deepEqual(shape(err), shape(theirs));
        assert.equal(out, '');
      });
    });
  }

  for (const line of [
    '-j -ddd true',
    '-j -r 2 -e task-clock,faults true',
    '-j -a -A -e task-clock,faults sleep 0.01',
    '-j -a --per-core -e task-clock,faults sleep 0.01',
    '-j -a --per-socket -e task-clock,faults sleep 0.01',
    '-j -a -I 20 --interval-count 1 -e task-clock,faults sleep 0.2',
  ]) {
    const words = line.split(' ');
    test(`${line}: the same keys and kinds`, { skip: lackingFor(words) }, async () => {
      const ours = (await counterpoint('stat', ...words)).err.trim().split('\n').map(parseLine);
      const theirs = perfStat(...words)
        .trim()
        .split('\n')
        .map(parseLine);
      assert.deepEqual(ours.map(kinds), theirs.map(kinds));
    });
  }
});

const parseLine = (line: string) => JSON.parse(line) as Record<string, unknown>;

function kinds(row: Record<string, unknown>): [string, unknown][] {
  return Object.entries(row).map(([key, value]) => [
    key,
    typeof value === 'number' ? 'number' : masked(String(value)),
  ]);
}

describe('counts', { skip: noPerf || noTracepoints }, () => {
  const count = (text: string, event: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.includes(`,${event},`))
        ?.split(',')[0],
    );

  test('of tracepoints are exactly those of perf', async () => {
    const command = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=512', 'count=2345', 'status=none'];
    const events = 'syscalls:sys_enter_read,syscalls:sys_enter_write';
    const words = ['-x,', '-e', events, '--', ...command];
    const ours = await counterpoint('stat', ...words);
    const theirs = perfStat(...words);
    for (const event of events.split(',')) assert.equal(count(ours.err, event), count(theirs, event));
    assert.equal(count(ours.err, 'syscalls:sys_enter_write'), 2345);
  });

  test('of a filter are exactly those of perf', async () => {
    const words = [
      '-x,',
      '-e',
      'syscalls:sys_enter_write',
      '--filter',
      'count == 512',
      '--',
      'sh',
      '-c',
      'dd if=/dev/zero of=/dev/null bs=512 count=17 status=none; dd if=/dev/zero of=/dev/null bs=511 count=5 status=none',
    ];
    assert.equal(count((await counterpoint('stat', ...words)).err, 'syscalls:sys_enter_write'), 17);
    assert.equal(count(perfStat(...words), 'syscalls:sys_enter_write'), 17);
  });

  test('of several runs are their mean', async () => {
    const { err } = await counterpoint(
      'stat',
      '--json',
      '-r',
      '3',
      '-e',
      'syscalls:sys_enter_execve',
      'true',
    );
    const answer = JSON.parse(err);
    assert.equal(answer.runs.length, 3);
    // A tracepoint on exec's entry stands before the exec that starts the counters.
    assert.equal(answer.rows[0].value, 0);
    assert.equal(answer.rows[0].spreadPercent, 0);
  });
});

const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

describe('what ends a run', () => {
  test('--timeout ends the command, and what was counted is there', async () => {
    const { err } = await counterpoint('stat', '--json', '--timeout', '60', '-e', 'task-clock', 'sleep', '5');
    const answer = JSON.parse(err);
    assert.equal(answer.stopped, 'timeout');
    assert.equal(answer.rows[0].status, 'counted');
    assert.ok(Number(answer.runs[0].elapsedNs) < 2e9);
  });

  test('an interrupt: what was counted is printed, the command is ended, and so are we', async () => {
    const words = ['stat', '--json', '-e', 'task-clock', 'sleep', '20'];
    const child = spawn(process.execPath, [...commandLineProcess(), ...words], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.on('data', (piece: Buffer) => {
      text += piece;
    });
    while (childrenOf(child.pid!).length === 0) await setTimeout(20);
    await setTimeout(300);
    child.kill('SIGINT');
    const [, signal] = await once(child, 'exit');
    assert.equal(signal, 'SIGINT');
    const answer = JSON.parse(text);
    assert.equal(answer.stopped, 'aborted');
    assert.equal(answer.rows[0].status, 'counted');
  });

  test('a process that ends while it is counted', async () => {
    const target = waiting();
    const counted = counterpoint('stat', '--json', '-e', 'faults', '-p', `${target.pid}`);
    assert.ok(await until(() => hasEvents(process.pid)));
    target.end();
    const { err, status } = await counted;
    const answer = JSON.parse(err);
    assert.equal(answer.stopped, 'target-ended');
    assert.equal(answer.rows[0].status, 'counted');
    assert.equal(status, 0);
  });
});

describe('all threads, each for itself', () => {
  const busy = 'exec sh -c "while :; do :; done" per-thread-test';
  const rowsOfThread = (text: string, tid: number) =>
    text.split('\n').filter((line) => line.includes(`-${tid}`));

  test('the busiest first, none that did nothing, and lines as those of perf', {
    skip: noWholeCpus,
  }, async (t) => {
    const loop = spawn('sh', ['-c', busy], { stdio: 'ignore' });
    t.after(() => loop.kill('SIGKILL'));
    await setTimeout(50);
    const words = ['-a', '--per-thread', '-e', 'task-clock,faults', 'sleep', '0.2'];
    const { err } = await counterpoint('stat', ...words);
    assert.match(err, /stats for 'system wide'/);
    const counts = [...err.matchAll(/^ *\S.*-\d+ +([\d.,]+) msec task-clock/gm)].map(([, count]) =>
      Number(count!.replace(',', '')),
    );
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => b - a),
    );
    assert.ok(counts.length > 1);
    assert.doesNotMatch(err, / 0 {6}faults/);
    assert.equal(rowsOfThread(err, loop.pid!).length, 1);
    if (noPerf !== false) return;
    // Of the whole system perf counts nothing where a thread ends between its list of them and the opening.
    const ofProcess = words.flatMap((word) => (word === '-a' ? ['-p', String(loop.pid)] : [word]));
    const theirs = rowsOfThread(perfStat(...ofProcess), loop.pid!).filter((row) => !/ 0 {6}faults/.test(row));
    assert.deepEqual(rowsOfThread(err, loop.pid!).map(masked), theirs.map(masked));
  });

  test('an event that cannot be counted is there once, with the reason', { skip: noWholeCpus }, async () => {
    const { err } = await counterpoint(
      'stat',
      '--json',
      '-a',
      '--per-thread',
      '-e',
      'r1234567',
      'sleep',
      '0.02',
    );
    const { rows } = JSON.parse(err);
    if (rows.length > 1) return;
    assert.equal(rows[0].status, 'not-supported');
    assert.equal(typeof rows[0].reason, 'string');
  });

  test('a thread that has ended by then has its name', { skip: noWholeCpus }, async () => {
    const words = ['--per-thread', '-a', '-e', 'faults', 'sh', '-c', ':'];
    const { err } = await counterpoint('stat', '--json', ...words);
    for (const { place } of JSON.parse(err).rows) assert.notEqual(place.name, '');
  });
});

describe('usage', () => {
  for (const [line, pattern] of [
    ['', /nothing to count/],
    ['-G , true', /-G expects a list that is not empty/],
    ['-a -G ../.. -e cs true', /'\.\.\/\.\.' is not a control group/],
    ['-C 0-99999999 true', /at most 65536 numbers/],
    ['--plan -x, true', /--plan does not support -x/],
    ['--plan -j true', /--plan does not support -j/],
    ['--set faults --set cs --switch time:99999999999999ms true', /too long/],
    ['--set faults --set cs --switch overflow:faults:99999999999999999999 true', /never comes/],
    ['-e uprobe:/tmp:work true', /\/tmp is a directory/],
    ['-e uprobe:/dev/null:work true', /\/dev\/null is no ordinary file/],
    ['-p , true', /-p expects a list that is not empty/],
    ['-I -5 true', /-I expects a value from 1/],
    ['-r -1 true', /-r expects a value from 0/],
    ['-r 3 -a', /-r repeats a command/],
    ['--timeout 5 true', /--timeout expects a value from 10/],
    ['--interval-count 3 true', /--interval-count is for -I/],
    ['-A true', /-A is for whole CPUs/],
    ['--per-thread true', /--per-thread is for running threads.*\n.*Start it first.*--per-thread -p PID/],
    ['--per-core --per-socket -a true', /--per-core and --per-socket exclude each other/],
    ['-a -p 1 true', /exclude each other/],
    ['--all-user --all-kernel true', /exclude each other/],
    ['-x, -j true', /-x and -j exclude each other/],
    ['-M ipcc true', /no metric ipcc; did you mean ipc\?/],
    ['--switch time:5ms -e faults true', /--switch is for several event sets/],
    ['--set faults --set cs --switch daily true', /'daily' is not a rule/],
    ['--filter x==1 true', /a filter must follow its tracepoint/],
    ['-G a --for-each-cgroup b true', /exclude each other/],
    ['-e cs -G a,b true', /--for-each-cgroup a,b|one control group/],
    ['-d --set cs true', /here are only sets/],
    ['--set sched:sched_switch --filter prev_pid>0 true', /not to a --set/],
    ['-e no-such-event true', /event syntax error/],
  ] as const) {
    test(`stat ${line}: 129, in words`, async () => {
      const { status, err, out } = await counterpoint(
        'stat',
        ...line.split(' ').filter((word) => word !== ''),
      );
      assert.match(err, pattern);
      assert.equal(status, 129);
      assert.equal(out, '');
    });
  }
});

test('-o writes a file, --append adds to it', async (t) => {
  const path = join(temporaryFolder(t), 'stat.txt');
  await counterpoint('stat', '-o', path, '-e', 'faults', 'true');
  const { err } = await counterpoint('stat', '-o', path, '--append', '-e', 'faults', 'true');
  assert.equal(err, '');
  const text = readFileSync(path, 'utf8');
  assert.equal(text.match(/^# started on \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/gm)?.length, 2);
  assert.equal(text.match(/ faults /g)?.length, 2);
});

test('--save-control of what nobody can count writes no file', async (t) => {
  const path = join(temporaryFolder(t), 'control.json');
  const wrong = await counterpoint('stat', '--save-control', path, '--set', 'cs', '--set', 'nosuch', 'true');
  assert.equal(wrong.status, 129);
  assert.match(wrong.err, /'nosuch'/);
  assert.ok(!existsSync(path));
});

test('--plan -o writes the plan to the file; --save-control - to standard output', async (t) => {
  const path = join(temporaryFolder(t), 'plan.txt');
  const { out, status } = await counterpoint('stat', '--plan', '-o', path, '-e', 'faults', 'true');
  assert.deepEqual([status, out], [0, '']);
  assert.match(readFileSync(path, 'utf8'), /^0: faults: the command's process/m);
  const saved = await counterpoint('stat', '--save-control', '-', '-e', 'faults', 'true');
  assert.equal(JSON.parse(saved.out).type, 'control-data');
});

test('-I with --json is a stream of lines, the last one the whole answer; lines say their run', async () => {
  const words = ['--json', '-r', '2', '-I', '20', '-e', 'context-switches,migrations', 'sleep', '0.05'];
  const { err } = await counterpoint('stat', ...words);
  const answers = err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const last = answers.pop();
  assert.equal(last.type, 'stat');
  assert.deepEqual(
    [...new Set(answers.map(({ type, run }) => `${type} ${run}`))],
    ['stat-interval 1', 'stat-interval 2'],
  );
  for (const { rows } of answers)
    for (const { status, enabledNs, runningNs, errorBound } of rows)
      if (status === 'counted' && enabledNs === runningNs) assert.equal(errorBound, 0);
});

test('events without a target are counted everywhere; 0 turns an interval and a timeout off', async () => {
  const { status, err } = await counterpoint('stat', '-e', 'cs', '--timeout', '20');
  if (status === 0) assert.match(err, /'system wide'/);
  else assert.match(err, /whole CPUs/);
  const off = await counterpoint('stat', '-I', '0', '--timeout', '0', '-e', 'faults', 'true');
  assert.equal(off.status, 0);
  assert.match(off.err, /Performance counter stats for 'true'/);
});

test('a set that is a list stands in quotes where its commas would be taken for fields', async () => {
  const { err } = await counterpoint('stat', '-x,', '--set', 'faults,cs', '--set', 'migrations', 'true');
  assert.match(err, /,"faults,cs"$/m);
  assert.match(err, /,migrations$/m);
});

test('event sets take turns, and are scaled to all of the time', async () => {
  const { err } = await counterpoint(
    'stat',
    ...['--json', '--set', 'task-clock', '--set', 'faults', '--switch', 'time:5ms'],
    ...['sh', '-c', 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'],
  );
  const { rows, switching } = JSON.parse(err);
  assert.deepEqual(switching, { by: 'time', sliceMs: 5 });
  assert.deepEqual(
    rows.map(({ set }: { set: string }) => set),
    ['task-clock', 'faults'],
  );
  for (const { runningNs, enabledNs } of rows) assert.ok(Number(runningNs) < Number(enabledNs));
});

test('rows say their event set where there are several', async () => {
  const words = ['--set', 'task-clock', '--set', 'faults,cs', 'true'];
  const text = (await counterpoint('stat', ...words)).err;
  assert.match(text, / task-clock +\[task-clock\]/);
  assert.match(text, / cs +\[faults,cs\]/);
  const fields = (await counterpoint('stat', '-x;', ...words)).err;
  assert.deepEqual(
    fields
      .trim()
      .split('\n')
      .map((line) => line.split(';').at(-1)),
    ['task-clock', 'faults,cs', 'faults,cs'],
  );
  const lines = (await counterpoint('stat', '-j', ...words)).err.trim().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).set),
    ['task-clock', 'faults,cs', 'faults,cs'],
  );
  assert.doesNotMatch((await counterpoint('stat', '-e', 'faults', 'true')).err, /\[/);
});

describe('control data', () => {
  test('what was saved is counted again, with what a newer version wrote beside it', async (t) => {
    const folder = temporaryFolder(t);
    const [first, second] = [join(folder, 'first.json'), join(folder, 'second.json')];
    const words = ['--all-user', '--set', 'faults', '--set', 'cs', '--switch', 'time:20ms'];
    await counterpoint('stat', '-q', '--save-control', first, ...words, 'true');
    const saved = JSON.parse(readFileSync(first, 'utf8'));
    assert.deepEqual(
      [saved.sets.map(({ events }: { events: string }) => events), saved.switch, saved.levels],
      [['faults', 'cs'], { by: 'time', sliceMs: 20 }, 'user'],
    );
    writeFileSync(first, JSON.stringify({ ...saved, colour: 'green' }));
    const { err } = await counterpoint(
      'stat',
      ...['--json', '--control-data', first, '--save-control', second, 'true'],
    );
    const { rows, switching } = JSON.parse(err);
    assert.deepEqual(
      rows.map(({ set }: { set: string }) => set),
      ['faults', 'cs'],
    );
    assert.deepEqual(switching, { by: 'time', sliceMs: 20 });
    assert.deepEqual(JSON.parse(readFileSync(second, 'utf8')), { ...saved, colour: 'green' });
  });

  test('beside events of the command line: 129', async () => {
    const { status, err } = await counterpoint('stat', '--control-data', 'x.json', '-e', 'faults', 'true');
    assert.equal(status, 129);
    assert.match(err, /says what to count, and so does -e/);
  });

  test('a file that is none: 1, with the place', async (t) => {
    const path = join(temporaryFolder(t), 'control.json');
    writeFileSync(path, '{"type":"control-data","version":1,"sets":[{"name":"a"}]}');
    const { status, err } = await counterpoint('stat', '--control-data', path, 'true');
    assert.equal(status, 1);
    assert.match(err, /events/);
    writeFileSync(path, '{"type":"control-data",\n"version":}');
    const broken = (await counterpoint('stat', '--control-data', path, 'true')).err;
    assert.ok(broken.includes(`${path} is not control data: it is not JSON: a value`), broken);
    assert.match(broken, /in line 2, column 11/);
  });
});

test('sets that switch by an overflow share the time of the command, not that of each CPU', {
  skip: noKernelPart,
}, async () => {
  const loop = 'i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done';
  const words = ['--set', 'faults', '--set', 'task-clock', '--switch', 'overflow:faults:50'];
  const { err } = await counterpoint('stat', '--json', ...words, 'sh', '-c', loop);
  assert.match(err, /^\{/, err);
  const { rows } = JSON.parse(err);
  type Row = { event: string; set: string; runningNs: string; enabledNs: string };
  assert.deepEqual(
    rows.map(({ event, set }: Row) => [event, set]),
    [
      ['faults', 'faults'],
      ['task-clock', 'task-clock'],
    ],
  );
  // The event that ends sets is in both of them, and was there all the time but for what a switch takes.
  const [faults, clock] = rows as [Row, Row];
  const present = Number(faults.runningNs) / Number(faults.enabledNs);
  assert.ok(present > 0.98 && present <= 1, `${present}`);
  const share = Number(clock.runningNs) / Number(clock.enabledNs);
  assert.ok(share > 0.05 && share < 0.95, `${share}`);
  const together = Number(clock.enabledNs) / Number(faults.enabledNs);
  assert.ok(together > 0.9 && together < 1.1, `${together}`);
});

test('-d adds its events to those that were named', async () => {
  const { out, status } = await counterpoint('stat', '--plan', '--json', '-d', '-e', 'faults', 'true');
  assert.equal(status, 0);
  for (const name of ['faults', 'L1-dcache-loads', 'LLC-load-misses']) assert.ok(out.includes(name), name);
});
