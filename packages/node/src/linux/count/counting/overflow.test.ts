import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noOwnFaults as noEvents, touchPages } from '../../../test/own-faults.ts';
import { noKernelPart, noTracepoints } from '../../../test/rights.ts';
import { until } from '../../../test/until-told.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { launchHeld, readProc } from '../../kernel/target/index.ts';
import { type Overflow, openCounting } from './index.ts';

const self = { kind: 'self' } as const;

test('an overflow is told of with its count and time, and counting goes on', { skip: noEvents }, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', initialPeriod: 100, period: 500 }],
  });
  const seen: Overflow[] = [];
  const reading = (async () => {
    for await (const overflow of session.overflows()) {
      seen.push(overflow);
      if (seen.length === 3) break;
    }
  })();
  session.start();
  touchPages(200);
  assert.ok(await until(() => seen.length > 0));
  touchPages(2000);
  await reading;
  assert.deepEqual(
    seen.map(({ event, tid }) => [event, tid]),
    seen.map(() => ['faults:u', process.pid]),
  );
  assert.deepEqual([seen[0]!.count, seen[0]!.period], [100n, 100n]);
  // The restart period holds from the first notification on, give or take when the kernel learns of it.
  const [first, second, third] = seen.map(({ count }) => Number(count));
  assert.ok(second! - first! >= 500 && second! - first! < 1000, `${first} ${second}`);
  assert.equal(third! - second!, 500);
  assert.ok(seen[2]!.timeNs > seen[0]!.timeNs);
  assert.ok(session.read().sets[0]!.events[0]!.value! >= 2200n);
  assert.deepEqual(session.overflowLoss, { lost: 0n, throttled: 0, dropped: 0 });
});

test('a suspended event stops at its very count, with its group, until it is resumed', {
  skip: noEvents,
}, async () => {
  using session = openCounting({
    target: self,
    events: '{faults:u,minor-faults:u}',
    overflows: [{ event: 'faults:u', period: 300, action: 'suspend' }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  const values = () => session.read().sets[0]!.events.map(({ value }) => Number(value));
  session.start();
  touchPages(1000);
  // The kernel counts one page fault as the one event, and then as the other.
  const [faults, minor] = values();
  assert.ok(faults === 300 && (minor === 299 || minor === 300), `${faults} ${minor}`);
  const told = (await overflows.next()).value!;
  assert.equal(told.count, 300n);
  assert.deepEqual(told.group, [{ event: 'minor-faults:u', count: BigInt(minor!) }]);
  assert.equal(session.isSuspended, true);
  touchPages(1000);
  assert.deepEqual(values(), [faults, minor]);
  session.resume();
  assert.equal(session.isSuspended, false);
  touchPages(1000);
  assert.equal(values()[0], 600);
  await overflows.next();
  // Nobody resumes: it stays as it is, and closes like any other.
  await sleep(10);
  assert.equal(values()[0], 600);
});

test('a member of a group that an exec starts suspends at its very count', { skip: noEvents }, async () => {
  const script = 'i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done';
  using held = launchHeld(['/bin/sh', '-c', script], { stdio: ['ignore', 'ignore', 'ignore'] });
  using session = openCounting({
    target: { kind: 'command', pid: held.pid },
    events: '{task-clock:u,faults:u}',
    overflows: [{ event: 'faults:u', period: 40, action: 'suspend' }],
  });
  session.start();
  held.release();
  await held.exited;
  const [clock, faults] = session.read().sets[0]!.events;
  assert.equal(faults!.value, 40n);
  assert.ok(clock!.value! > 0n);
});

test('random bits lengthen each period but the first, and each is kept exactly', {
  skip: noEvents,
}, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', initialPeriod: 50, period: 100, randomMask: 0x3f, action: 'suspend' }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  const periods: number[] = [];
  session.start();
  let before = 0n;
  for (let round = 0; round < 12; round++) {
    touchPages(300);
    const { count, period } = (await overflows.next()).value!;
    assert.equal(count! - before, period);
    assert.equal(session.read().sets[0]!.events[0]!.value, count);
    before = count!;
    periods.push(Number(period));
    session.resume();
  }
  const [first, ...rest] = periods;
  assert.equal(first, 50);
  assert.ok(
    rest.every((period) => period >= 100 && period <= 163),
    `${rest}`,
  );
  assert.ok(new Set(rest).size > 3, `${rest}`);
});

test('unloading a suspending event before its overflow leaves the overflow to come', {
  skip: noEvents,
}, () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', period: 1000, action: 'suspend' }],
  });
  for (let round = 0; round < 3; round++) {
    session.start();
    touchPages(100);
    session.stop();
  }
  session.start();
  touchPages(3000);
  assert.equal(Number(session.read().sets[0]!.events[0]!.value), 1000);
});

test('a signal goes to the chosen thread of another process', { skip: noEvents }, async () => {
  const script =
    "process.on('SIGUSR2', () => console.log('signal')); process.stdin.resume(); console.log('up')";
  const receiver = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await once(receiver.stdout, 'data');
    using session = openCounting({
      target: self,
      events: 'faults:u',
      overflows: [{ event: 'faults:u', period: 400, signal: { number: 12, tid: receiver.pid! } }],
    });
    session.start();
    // One after the other: two of a signal that waits are one.
    for (let round = 0; round < 3; round++) {
      const told = once(receiver.stdout, 'data', { signal: AbortSignal.timeout(5000) });
      touchPages(400);
      assert.match(String(await told), /^(signal\n)+$/);
    }
  } finally {
    receiver.kill('SIGKILL');
  }
});

test('with a signal, too, the restart period follows the initial one', { skip: noEvents }, async () => {
  const ignoring = spawn('/bin/sh', ['-c', "trap '' USR2; echo up; exec sleep 60"], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(ignoring.stdout, 'data');
    using session = openCounting({
      target: self,
      events: 'faults:u',
      overflows: [
        { event: 'faults:u', initialPeriod: 30, period: 100_000, signal: { number: 12, tid: ignoring.pid! } },
      ],
    });
    let overflows = 0;
    (async () => {
      for await (const _ of session.overflows()) overflows++;
    })();
    session.start();
    touchPages(40);
    assert.ok(await until(() => overflows > 0));
    touchPages(1000);
    await sleep(20);
    assert.equal(overflows, 1);
  } finally {
    ignoring.kill('SIGKILL');
  }
});

test('who no longer wants overflows does not wait for one', { skip: noEvents }, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', period: 1_000_000 }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  const waiting = overflows.next();
  assert.deepEqual(await overflows.return!(), { done: true, value: undefined });
  assert.deepEqual(await waiting, { done: true, value: undefined });
});

test('a tracepoint is not suspended: the kernel would not start it again', { skip: noTracepoints }, () => {
  const open = () =>
    openCounting({
      target: self,
      events: 'sched:sched_switch',
      overflows: [{ event: 'sched:sched_switch', period: 5, action: 'suspend' }],
    });
  assert.throws(open, { code: 'ERR_SUSPEND_TRACEPOINT' });
});

test('a control update preserves the sums that it is told to', { skip: noEvents }, () => {
  using session = openCounting({ target: self, events: 'faults:u,minor-faults:u' });
  session.start();
  touchPages(500);
  session.update({ events: 'minor-faults:u,faults:u,task-clock:u' }, ['faults:u']);
  touchPages(100);
  const [minor, faults, clock] = session.read().sets[0]!.events.map(({ value }) => Number(value));
  assert.ok(faults! >= 600 && minor! >= 100 && minor! < 500 && clock! > 0, `${faults} ${minor} ${clock}`);
  // An update that cannot be made changes nothing.
  assert.throws(() => session.update({ events: 'no-such-event' }), /unknown event/);
  touchPages(50);
  assert.ok(Number(session.read().sets[0]!.events[1]!.value) >= 650);
});

test('the overflows of a target end with it, also where one has suspended', { skip: noEvents }, async () => {
  for (const action of ['notify', 'suspend'] as const) {
    const shell = spawn(
      '/bin/sh',
      ['-c', 'read line; s=x; for i in 1 2 3 4 5 6 7 8 9 10; do s=$s$s$s$s; done'],
      {
        stdio: 'pipe',
      },
    );
    // On a busy machine it may have ended before its overflow is told.
    const exited = once(shell, 'exit');
    using session = openCounting({
      target: { kind: 'processes', pids: [shell.pid!] },
      events: 'faults',
      overflows: [{ event: 'faults', period: 20, action }],
    });
    session.start();
    let told = 0;
    const reading = (async () => {
      for await (const _ of session.overflows()) {
        if (told++ > 0 || action === 'notify') continue;
        assert.ok(session.isSuspended);
        shell.kill('SIGKILL');
        await exited;
        session.resume();
      }
    })();
    shell.stdin.write('go\n');
    const late = new AbortController();
    const end = await Promise.race([reading, sleep(5000, 'late', { signal: late.signal })]);
    late.abort();
    assert.deepEqual([end, told > 0], [undefined, true], action);
    // Who asks later is told at once.
    for await (const _ of session.overflows()) assert.fail('there are no more');
  }
});

test('children overflow, too; suspending them is refused with the reason', { skip: noEvents }, async () => {
  const before = liveHandles().length;
  const shell = spawn('/bin/sh', ['-c', 'read line; /bin/ls -R /usr/share/doc >/dev/null; read line'], {
    stdio: 'pipe',
  });
  try {
    const target = { kind: 'processes', pids: [shell.pid!] } as const;
    using session = openCounting({ target, events: 'faults', overflows: [{ event: 'faults', period: 20 }] });
    const overflows = session.overflows()[Symbol.asyncIterator]();
    session.start();
    shell.stdin.write('go\n');
    const { value } = await overflows.next();
    assert.equal(value!.period, 20n);
    const overflowing = () =>
      openCounting({
        target,
        events: 'faults',
        inherit: true,
        overflows: [{ event: 'faults', period: 20, action: 'suspend' }],
      });
    assert.throws(overflowing, { code: 'ERR_SUSPEND_INHERITED' });
  } finally {
    shell.kill();
  }
  assert.equal(liveHandles().length, before);
});

test('waiting for overflows takes no time, and the event loop goes on meanwhile', {
  skip: noEvents || noKernelPart,
}, async () => {
  const shells = [0, 1].map(() =>
    spawn('/bin/sh', ['-c', 'echo up; while read line; do /bin/true; done'], { stdio: 'pipe' }),
  );
  try {
    for (const { stdout } of shells) await once(stdout, 'data');
    // They wait for a line.
    for (const { pid } of shells) assert.ok(await until(() => / S /.test(readProc(`${pid}/stat`)!)));
    using session = openCounting({
      target: { kind: 'threads', tids: shells.map(({ pid }) => pid!) },
      events: 'task-clock,cs',
      inherit: false,
      overflows: [
        { event: 'task-clock', period: 100_000 },
        { event: 'cs', period: 2 },
      ],
    });
    const seen = new Set<string>();
    (async () => {
      for await (const { event, tid } of session.overflows()) seen.add(`${event} ${tid}`);
    })();
    session.start();
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 10).unref();
    const before = process.cpuUsage();
    await sleep(300);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 150_000, `${user + system} µs of CPU time in 300 ms`);
    assert.ok(ticks >= 10, `${ticks} ticks`);
    assert.deepEqual([...seen], []);
    // Each of the four counters has its messages, as they come.
    for (let round = 0; round < 50 && seen.size < 4; round++) {
      for (const { stdin } of shells) stdin.write('go\n');
      await sleep(20);
    }
    clearInterval(ticking);
    const wanted = shells.flatMap(({ pid }) => [`cs ${pid}`, `task-clock ${pid}`]);
    assert.deepEqual([...seen].sort(), wanted.sort());
  } finally {
    for (const shell of shells) shell.kill();
  }
});

test('who gets an overflow may let the other counters begin again', { skip: noEvents }, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u,minor-faults:u',
    overflows: [{ event: 'faults:u', period: 300, action: 'suspend' }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  session.start();
  for (let round = 1; round <= 3; round++) {
    touchPages(1000);
    await overflows.next();
    const [faults, minor] = session.read().sets[0]!.events.map(({ value }) => Number(value));
    assert.equal(faults, 300 * round);
    // Reset at each overflow before, it has this one's part alone (and what it counts until the loop turns).
    assert.ok(minor! >= 290 && minor! < 1600, `${minor} in round ${round}`);
    session.reset(['minor-faults:u']);
    assert.equal(Number(session.read().sets[0]!.events[1]!.value), 0);
    session.resume();
  }
});

test('no overflow goes unannounced, however early it comes', { skip: noEvents }, async () => {
  for (let round = 0; round < 30; round++) {
    using session = openCounting({
      target: self,
      events: 'faults:u',
      overflows: [{ event: 'faults:u', period: 100 }],
    });
    const overflows = session.overflows()[Symbol.asyncIterator]();
    session.start();
    for (let overflow = 0; overflow < 4; overflow++) {
      touchPages(130);
      const late = new AbortController();
      const told = await Promise.race([overflows.next(), sleep(2000, null, { signal: late.signal })]);
      late.abort();
      assert.ok(told !== null, `overflow ${overflow} of round ${round}`);
    }
  }
});

test('overflows that were told and lost add up to those that were due', { skip: noEvents }, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', period: 3 }],
  });
  let told = 0n;
  (async () => {
    for await (const _ of session.overflows()) told++;
  })();
  session.start();
  // Rings of some fifty overflows, the last of them full at the end: then no record tells of the rest.
  for (const burst of [30, 900, 60, 3000]) {
    touchPages(burst);
    await sleep(5);
  }
  session.stop();
  await sleep(5);
  const { value } = session.read().sets[0]!.events[0]!;
  await until(() => told + session.overflowLoss.lost >= value! / 3n);
  const { lost } = session.overflowLoss;
  assert.ok(lost > 900n, `${lost}`);
  assert.equal(told + lost, value! / 3n);
  session.close();
  assert.equal(session.overflowLoss.lost, lost);
});

test('overflows from before a reset are told with the counts of before, group and all', {
  skip: noEvents,
}, async () => {
  using session = openCounting({
    target: self,
    events: '{faults:u,task-clock:u}',
    overflows: [{ event: 'faults:u', period: 100 }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  session.start();
  touchPages(250);
  const clockAtReset = session.read().sets[0]!.events[1]!.value;
  session.reset();
  touchPages(120);
  const told = [await overflows.next(), await overflows.next(), await overflows.next()];
  const counts = told.map(({ value }) => Number(value!.count));
  assert.deepEqual(counts.slice(0, 2), [100, 200]);
  // The third was due at 300 of all.
  assert.ok(counts[2]! > 0 && counts[2]! <= 50, `${counts}`);
  for (const { value } of told.slice(0, 2)) {
    const { count } = value!.group[0]!;
    assert.ok(count > 0n && count <= clockAtReset!, `${count}`);
  }
  session.stop();
  assert.deepEqual(session.overflowLoss, { lost: 0n, throttled: 0, dropped: 0 });
});

test('what is due when a session is updated or closed is told, or lost and said so', {
  skip: noEvents,
}, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', period: 10 }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  session.start();
  touchPages(205);
  const first = session.read().sets[0]!.events[0]!.value;
  session.update({ events: 'faults:u', overflows: [{ event: 'faults:u', period: 100 }] });
  touchPages(350);
  session.stop();
  const second = session.read().sets[0]!.events[0]!.value;
  session.close();
  const periods: bigint[] = [];
  for (;;) {
    const { value } = await overflows.next();
    if (!value) break;
    periods.push(value.period);
  }
  const told = (period: bigint) => BigInt(periods.filter((each) => each === period).length);
  assert.ok(first! >= 205n && second! >= 350n);
  assert.deepEqual([told(10n), told(100n)], [first! / 10n, second! / 100n]);
  assert.equal(session.overflowLoss.lost, 0n);
});

test('a control update keeps the losses that were known', { skip: noEvents }, async () => {
  using session = openCounting({
    target: self,
    events: 'faults:u',
    overflows: [{ event: 'faults:u', period: 1 }],
  });
  let told = 0n;
  (async () => {
    for await (const _ of session.overflows()) told++;
  })();
  session.start();
  touchPages(3000);
  session.stop();
  const { value } = session.read().sets[0]!.events[0]!;
  session.update({ events: 'faults:u' }, 'all');
  await until(() => told + session.overflowLoss.lost >= value!);
  assert.ok(session.overflowLoss.lost > 1000n, `${session.overflowLoss.lost}`);
  assert.equal(told + session.overflowLoss.lost, value);
});

test('a worker tells of its own overflows, and may be terminated while it does', { skip: noEvents }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-worker-'));
  const index = JSON.stringify(join(import.meta.dirname, 'index.ts'));
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  try {
    writeFileSync(
      join(folder, 'worker.mjs'),
      `import { parentPort } from 'node:worker_threads';
      (await import(${tsx})).register();
      const { openCounting } = await import(${index});
      const overflows = [{ event: 'faults:u', period: 500 }];
      const session = openCounting({ target: { kind: 'self' }, events: 'faults:u', overflows });
      session.start();
      (async () => { for await (const { count } of session.overflows()) parentPort.postMessage(String(count)); })();
      for (;;) { new Uint8Array(4 << 20).fill(1); await new Promise((resolve) => setTimeout(resolve, 5)); }`,
    );
    const script = `
      import { Worker } from 'node:worker_threads';
      const execArgv = ['--conditions=counterpoint-source'];
      const worker = new Worker(${JSON.stringify(join(folder, 'worker.mjs'))}, { execArgv });
      worker.once('message', async (count) => { console.log(count); await worker.terminate(); console.log('ended'); });`;
    const flags = [
      '--import',
      'tsx',
      '--conditions=counterpoint-source',
      '--input-type=module',
      '-e',
      script,
    ];
    const run = spawnSync(process.execPath, flags, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      timeout: 20_000,
    });
    assert.deepEqual([run.status, run.signal, run.stdout], [0, null, '500\nended\n'], run.stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the loop is not blocked: an overflow that nobody waits for costs nothing', { skip: noEvents }, () => {
  const script =
    "import { openCounting } from './index.ts';" +
    "const s = openCounting({ target: { kind: 'self' }, events: 'faults:u', overflows: [{ event: 'faults:u', period: 10 }] });" +
    's.start(); s.close();';
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--conditions=counterpoint-source', '--input-type=module', '-e', script],
    {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      timeout: 20_000,
    },
  );
  assert.equal(status, 0, stderr);
});
