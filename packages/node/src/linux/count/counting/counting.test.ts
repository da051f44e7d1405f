import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noKernelPart, noTracepoints } from '../../../test/rights.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { cgroupMounts, launchHeld } from '../../kernel/target/index.ts';
import { type Counts, type EventList, openCounting } from './index.ts';

/** On this machine's kernel, against perf where it is installed. */

const noPerf = spawnSync('perf', ['--version']).status === 0 ? false : 'perf is not installed';

async function countCommand(command: readonly string[], events: EventList): Promise<Counts> {
  using held = launchHeld(command, { stdio: ['ignore', 'ignore', 'ignore'] });
  using session = openCounting({ target: { kind: 'command', pid: held.pid }, events });
  session.start();
  held.release();
  await held.exited;
  session.stop();
  return session.read();
}

const values = (counts: Counts) =>
  counts.sets.flatMap(({ events }) => events.map(({ value }) => Number(value)));

test('a command and its children are counted from exec to exit, as by perf', {
  skip: noPerf || noKernelPart,
}, async () => {
  const script = 'for i in 1 2 3; do /bin/true; done; exec /bin/ls -d /';
  const events = 'minor-faults,major-faults,task-clock';
  const counts = await countCommand(['/bin/sh', '-c', script], events);
  const [faults = 0, , clock = 0] = values(counts);
  const theirs = spawnSync('perf', ['stat', '-x,', '-e', events, '/bin/sh', '-c', script], {
    encoding: 'utf8',
  });
  const theirFaults = Number(
    theirs.stderr
      .split('\n')
      .find((line) => line.includes('minor-faults'))!
      .split(',')[0],
  );
  // The kernel maps ahead as the page cache allows, so faults differ by a few from run
  // to run, by perf's count, too.
  assert.ok(Math.abs(faults - theirFaults) < 0.03 * theirFaults, `${faults} and ${theirFaults}`);
  assert.ok(clock > 100_000, 'less than 0.1 ms');
});

test('system calls of a program are counted exactly', { skip: noKernelPart || noTracepoints }, async () => {
  const event = 'raw_syscalls:sys_enter';
  const counts = await countCommand(['/bin/dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=1000'], event);
  const more = await countCommand(['/bin/dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=4000'], event);
  assert.equal(values(more)[0]! - values(counts)[0]!, 6000);
});

test('a group is read at one time, and places add up', { skip: noKernelPart }, async () => {
  using session = openCounting({ target: { kind: 'cpus' }, events: '{cs,faults},cpu-clock' });
  session.start();
  spawnSync('/bin/ls', ['-R', '/usr/share/doc'], { stdio: 'ignore' });
  session.stop();
  const [switches, faults, clock] = session.read().sets[0]!.events;
  assert.deepEqual(
    switches!.places.map(({ enabledNs, cpu }) => [enabledNs, cpu]),
    faults!.places.map(({ enabledNs, cpu }) => [enabledNs, cpu]),
  );
  for (const { value, places } of [switches!, faults!, clock!])
    assert.equal(
      value,
      places.reduce((sum, place) => sum + place.value, 0n),
    );
  assert.ok(faults!.value! > 50n);
});

test('sums go on through a stop, a reset and children that end', { skip: noKernelPart }, async () => {
  using child = launchHeld([
    '/bin/sh',
    '-c',
    'read x; /bin/ls -R /usr/share/doc >/dev/null; read y; /bin/true',
  ]);
  using session = openCounting({ target: { kind: 'processes', pids: [child.pid] }, events: 'faults' });
  session.start();
  session.stop();
  // The shell that holds the command may still have been at its own start.
  const stopped = values(session.read());
  child.kill('SIGTERM');
  await child.exited;
  assert.deepEqual(values(session.read()), stopped);

  const shell = spawn('/bin/sh', ['-c', 'while read line; do /bin/true; echo done; done'], { stdio: 'pipe' });
  try {
    const round = () =>
      new Promise<void>((resolve) => {
        shell.stdout.once('data', () => resolve());
        shell.stdin.write('go\n');
      });
    await round();
    using inherited = openCounting({ target: { kind: 'processes', pids: [shell.pid!] }, events: 'faults' });
    inherited.start();
    await round();
    const [one = 0] = values(inherited.read());
    assert.ok(one > 20, `${one}`);
    inherited.reset();
    assert.deepEqual(values(inherited.read()), [0]);
    await round();
    const [two = 0] = values(inherited.read());
    assert.ok(Math.abs(two - one) < 0.5 * one, `${one}, then ${two}`);
    const { enabledNs, runningNs } = inherited.read().sets[0]!.events[0]!;
    assert.equal(enabledNs, runningNs);
  } finally {
    shell.kill();
  }
});

test('no handle is left, and a closed session says so', () => {
  const before = liveHandles().length;
  const session = openCounting({ target: { kind: 'self' }, events: 'faults:u,task-clock:u' });
  session.close();
  session.close();
  assert.equal(liveHandles().length, before);
  assert.throws(() => session.read(), { code: 'ERR_CLOSED' });
});

test('what is stopped before the exec of a held command stays stopped, and can be started again', {
  skip: noKernelPart,
}, async () => {
  for (const again of [false, true]) {
    using held = launchHeld(['/bin/true'], { stdio: ['ignore', 'ignore', 'ignore'] });
    const target = { kind: 'command', pid: held.pid } as const;
    using session = openCounting({ target, sets: ['faults', 'minor-faults'] });
    session.start();
    session.stop();
    if (again) session.start();
    held.release();
    await held.exited;
    const [first, second] = session.read().sets;
    const { value } = first!.events[0]!;
    assert.ok(again ? value! > 20n : value === 0n, `${value}`);
    assert.equal(first!.timesLoaded, again ? 2 : 1);
    const { value: unknown, reason } = second!.events[0]!;
    assert.deepEqual([unknown, reason], [again ? null : 0n, 'its set never had a turn']);
  }
  assert.deepEqual(liveHandles(), []);
});

test('a command that ends before its exec can be stopped', { skip: noKernelPart }, async () => {
  using held = launchHeld(['/bin/true'], { stdio: ['ignore', 'ignore', 'ignore'] });
  using session = openCounting({ target: { kind: 'command', pid: held.pid }, events: 'faults' });
  session.start();
  held.kill('SIGKILL');
  await held.exited;
  session.stop();
  assert.equal(session.read().sets[0]!.events[0]!.value, 0n);
});

test('threads that had ended are named beside those that are counted', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ pid }) => (pid === 1 ? 'ESRCH' : null);
  using session = openCounting({
    target: { kind: 'threads', tids: [process.pid, 1] },
    events: 'cs,faults',
    inherit: false,
    sys,
  });
  assert.deepEqual(
    session.notes.map(({ text }) => text),
    ['not counted: thread 1 (already ended)'],
  );
});

test('a control update before the exec of a held command waits for the exec, too', {
  skip: noKernelPart,
}, async () => {
  const faultsOf = async (isStarted: boolean, isUpdated: boolean) => {
    using held = launchHeld(['/bin/sh', '-c', '/bin/true; /bin/true'], {
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    using session = openCounting({ target: { kind: 'command', pid: held.pid }, events: 'faults' });
    if (isStarted) session.start();
    if (isUpdated) session.update({ events: 'faults,task-clock' });
    session.start();
    held.release();
    await held.exited;
    return Number(session.read().sets[0]!.events[0]!.value);
  };
  const plain = await faultsOf(true, false);
  assert.ok(plain > 50, `${plain}`);
  // From the exec on: what the holder itself does is no part of it.
  for (const isStarted of [false, true]) {
    const updated = await faultsOf(isStarted, true);
    assert.ok(Math.abs(updated - plain) < 0.05 * plain, `${updated} for ${plain}`);
  }
});

test('a thread that runs is attached to: it is counted, and its neighbour is not', {
  skip: noKernelPart,
}, async () => {
  const shells = [0, 1].map(() =>
    spawn('/bin/sh', ['-c', 'while read line; do /bin/true; echo done; done'], { stdio: 'pipe' }),
  );
  try {
    const round = async (shell: (typeof shells)[number]) => {
      shell.stdin.write('go\n');
      await once(shell.stdout, 'data');
    };
    for (const shell of shells) await round(shell);
    const [own, neighbour] = shells;
    using session = openCounting({ target: { kind: 'threads', tids: [own!.pid!] }, events: 'faults' });
    session.start();
    await round(neighbour!);
    assert.deepEqual(values(session.read()), [0]);
    await round(own!);
    const [event] = session.read().sets[0]!.events;
    assert.ok(event!.value! > 20n, `${event!.value}`);
    assert.deepEqual(
      event!.places.map(({ task }) => task),
      [own!.pid],
    );
  } finally {
    for (const shell of shells) shell.kill();
  }
});

test('the counters of a process that is killed end with it', { skip: noKernelPart }, async () => {
  const script = `
    const { openCounting } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    const signal = { number: ${constants.signals.SIGALRM}, tid: ${process.pid} };
    const overflows = [{ event: 'task-clock', period: 1_000_000, signal }];
    const target = { kind: 'threads', tids: [${process.pid}] };
    openCounting({ target, events: 'task-clock', inherit: false, overflows }).start();
    console.log('up');
    setInterval(() => {}, 1000);`;
  let signals = 0;
  const count = () => void signals++;
  process.on('SIGALRM', count);
  const flags = ['--import', 'tsx', '--conditions=counterpoint-source', '--input-type=module'];
  const counter = spawn(process.execPath, [...flags, '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  /** 50 ms of this thread's time, in which it is counted. */
  const spin = async () => {
    const before = process.cpuUsage();
    while (process.cpuUsage(before).user < 50_000) Math.hypot(before.user);
    await sleep(20);
  };
  try {
    await once(counter.stdout, 'data');
    await spin();
    assert.ok(signals > 0);
    counter.kill('SIGKILL');
    await once(counter, 'exit');
    await sleep(20);
    const before = signals;
    await spin();
    assert.equal(signals, before);
  } finally {
    counter.kill('SIGKILL');
    process.off('SIGALRM', count);
  }
});

test('targets that are not there', () => {
  const open = (target: Parameters<typeof openCounting>[0]['target']) => () =>
    openCounting({ target, events: 'cs:u' });
  assert.throws(open({ kind: 'processes', pids: [999_999_999] }), { code: 'ERR_NO_PROCESS' });
  assert.throws(open({ kind: 'threads', tids: [999_999_999] }), { code: 'ERR_NO_PROCESS' });
  assert.throws(open({ kind: 'cpus', cpus: [4095] }), { code: 'ERR_NO_CPU' });
  assert.throws(open({ kind: 'cgroup', path: 'no/such/group' }), { code: 'ERR_NO_CGROUP' });
  assert.throws(() => openCounting({ target: { kind: 'self' } }), { code: 'ERR_NO_EVENTS' });
});

test('the tasks of a control group, wherever they run', { skip: noKernelPart }, (t) => {
  // Mounted for this test where it is mounted nowhere.
  const own = mkdtempSync(join(tmpdir(), 'counterpoint-cgroup-'));
  const isMountedHere =
    cgroupMounts().length === 0 && spawnSync('mount', ['-t', 'cgroup2', 'none', own]).status === 0;
  const name = `counterpoint-test-${process.pid}`;
  try {
    const [mount] = cgroupMounts();
    if (mount === undefined)
      return t.skip('control groups are not mounted, and mounting them is not allowed');
    const group = join(mount, name);
    try {
      mkdirSync(group);
    } catch (error) {
      return t.skip(`cannot make a control group: ${(error as Error).message}`);
    }
    try {
      using session = openCounting({ target: { kind: 'cgroup', path: name }, events: 'faults' });
      session.start();
      const list = ['-R', '/usr/share/doc'];
      spawnSync('/bin/ls', list, { stdio: 'ignore' });
      assert.deepEqual(values(session.read()), [0]);
      spawnSync('/bin/sh', ['-c', `echo $$ > ${group}/cgroup.procs; exec /bin/ls "$@"`, 'sh', ...list], {
        stdio: 'ignore',
      });
      const [inside = 0] = values(session.read());
      assert.ok(inside > 30, `${inside}`);
      // The kernel's times of a new group begin with the system's start.
      session.stop();
      const counts = session.read();
      for (const { places, enabledNs, runningNs } of counts.sets[0]!.events) {
        for (const place of places) assert.ok(place.enabledNs <= counts.elapsedNs, `${place.enabledNs}`);
        assert.ok(runningNs > 0n && runningNs <= enabledNs);
      }
    } finally {
      rmdirSync(group);
    }
  } finally {
    if (isMountedHere) spawnSync('umount', [own]);
    rmdirSync(own);
  }
});

test('an event that the kernel refuses names the field', { skip: noKernelPart }, (t) => {
  const reason = (events: string) => {
    using session = openCounting({ target: { kind: 'self' }, events });
    return session.read().sets[0]!.events[0]!.reason;
  };
  if (!existsSync('/sys/bus/event_source/devices/msr'))
    return t.skip('there is no PMU whose answers are known here (msr)');
  assert.match(
    reason('msr/tsc/u')!,
    /^the kernel refuses exclude_kernel=1, exclude_hv=1: its PMU cannot tell/,
  );
  assert.equal(reason('msr/event=0x77/'), 'the kernel refuses config=0x77: its PMU has no such event');
  assert.equal(reason('msr/tsc/'), 'the target did not run while it was enabled');
});

test('where perf events find control groups', () => {
  const info = [
    '30 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755',
    '31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:5 - cgroup2 cgroup2 rw,nsdelegate',
    '35 30 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct',
    '36 30 0:32 / /sys/fs/cgroup/perf\\040event rw - cgroup cgroup rw,perf_event',
    'nonsense',
  ];
  assert.deepEqual(cgroupMounts(info.join('\n')), ['/sys/fs/cgroup/perf event', '/sys/fs/cgroup/unified']);
  assert.deepEqual(cgroupMounts(''), []);
});

test('children’s CPU time is that of the process that was waited for', async () => {
  const before = realSys.childrenTimes();
  // 60 ms of its own, however long a busy machine takes to give them.
  spawnSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 60_000);']);
  const after = realSys.childrenTimes();
  assert.ok(after.userNs - before.userNs > 40_000_000n);
});
