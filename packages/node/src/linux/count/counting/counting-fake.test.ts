import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAttr } from '@counterpoint/core/records';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { onlineCpus } from '../../kernel/target/index.ts';
import { openCounting, planCounters, planCounting } from './index.ts';
import { SliceStatistics, studentT95 } from './slices.ts';

/** What cannot be provoked on one machine: refusals, full groups, times that do not match. */

const THREAD = { kind: 'threads', tids: [process.pid] } as const;

function opened(sys: FakeSys): string[] {
  return sys.events.map(({ attr, cpu, group }) => `${attr.type}:${attr.config} cpu ${cpu} group ${group}`);
}

test('a CPU that is named twice is counted once', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: { kind: 'cpus', cpus: [0, 0] }, events: 'cs', sys });
  assert.equal(session.read().sets[0]!.events[0]!.places.length, 1);
});

test('events open CPU by CPU, members after their leader', () => {
  const plan = planCounting({
    target: { kind: 'cpus', cpus: [0] },
    events: 'cs,{faults,migrations},minor-faults',
  });
  assert.deepEqual(
    plan.sets[0]!.rows.map(({ event, task, cpu, leader }) => [event, task, cpu, leader]),
    [
      [0, -1, 0, null],
      [1, -1, 0, null],
      [2, -1, 0, 1],
      [3, -1, 0, null],
    ],
  );
  const flags = plan.sets[0]!.events.map(({ attr }) => [
    attr.flags.disabled,
    attr.flags.inherit,
    Number(attr.readFormat),
  ]);
  assert.deepEqual(flags, [
    [1, 1, 3],
    [1, 1, 15],
    [0, 1, 15],
    [1, 1, 3],
  ]);
});

test('a member that does not fit breaks a weak group up, and stays out of another', () => {
  const full = (sys: FakeSys) => {
    sys.refuseOpen = ({ group }) => (group !== -1 && sys.events.length >= 2 ? 'EINVAL' : null);
  };
  const weak = new FakeSys();
  full(weak);
  using session = openCounting({ target: THREAD, events: '{cs,faults,migrations}:W', sys: weak });
  assert.deepEqual(opened(weak).slice(2), [
    '1:3 cpu -1 group -1',
    '1:2 cpu -1 group -1',
    '1:4 cpu -1 group -1',
  ]);
  assert.deepEqual(weak.closed, [3, 4]);
  assert.match(session.notes[0]!.text, /cs, faults, migrations at one time/);
  assert.deepEqual(
    weak.events.slice(2).map(({ attr }) => Number(attr.readFormat)),
    [3, 3, 3],
  );

  const strict = new FakeSys();
  full(strict);
  using other = openCounting({ target: THREAD, events: '{cs,faults,migrations}', sys: strict });
  const counts = other.read().sets[0]!.events;
  assert.deepEqual(
    counts.map(({ status }) => status),
    ['not-counted', 'not-counted', 'not-supported'],
  );
  assert.match(counts[2]!.reason!, /group of 3 events needs more counters/);
});

test('a leader that is refused takes its group along; nothing stays open of it', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => (attr.config === 3n ? 'ENOENT' : null);
  using session = openCounting({ target: THREAD, events: 'faults,{cs,migrations}', sys });
  const counts = session.read().sets[0]!.events;
  assert.deepEqual(
    counts.map(({ status, reason, value, scaled }) => [
      status,
      reason !== null && /led by cs/.test(reason),
      value,
      scaled,
    ]),
    [
      // It was not started: it counted nothing in no time. Of the others nobody knows.
      ['not-counted', false, 0n, 0n],
      ['not-supported', false, null, null],
      ['not-supported', true, null, null],
    ],
  );
  assert.equal(sys.events.length, 1);
});

test('a leader that a later CPU refuses takes along the members that are open on the CPUs before', {
  skip: onlineCpus().length > 1 ? false : 'there is one CPU',
}, () => {
  const sys = new FakeSys();
  let opens = 0;
  sys.refuseOpen = ({ attr }) => (attr.config === 3n && ++opens > 1 ? 'ENOENT' : null);
  const target = { kind: 'cpus', cpus: onlineCpus().slice(0, 2) } as const;
  using session = openCounting({ target, events: '{cs,migrations},faults', sys });
  const counts = session.read().sets[0]!.events;
  assert.deepEqual(
    counts.map(({ status, places }) => [status, places.length]),
    [
      ['not-supported', 0],
      ['not-supported', 0],
      ['not-counted', 2],
    ],
  );
  assert.match(counts[1]!.reason!, /led by cs/);
  assert.deepEqual(sys.closed, [3, 4]);
});

test('a group of a second set that is broken up does not begin with the exec', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ group }) => (group === -1 ? null : 'EINVAL');
  const target = { kind: 'command', pid: process.pid } as const;
  using session = openCounting({ target, sets: ['cs', '{faults,migrations}:W'], sys });
  assert.equal(session.setNames.length, 2);
  assert.deepEqual(
    sys.events.slice(-2).map(({ attr }) => [attr.config, attr.flags.enableOnExec, attr.flags.disabled]),
    [
      [2n, 0, 1],
      [4n, 0, 1],
    ],
  );
  assert.equal(sys.events[0]!.attr.flags.enableOnExec, 1);
});

test('memory that may not be locked for the ring of overflows is told of, with what to do', () => {
  const before = liveHandles().length;
  const sys = new FakeSys();
  sys.refuseMmap = () => 'EPERM';
  const overflows = [{ event: 'faults', period: 10 }];
  assert.throws(() => openCounting({ target: THREAD, events: 'faults', inherit: false, overflows, sys }), {
    code: 'ERR_LOCKED_MEMORY',
    message: /buffer for the overflows/,
    remedy: /perf_event_mlock_kb.*overflows of fewer events/,
  });
  assert.equal(liveHandles().length, before);
});

test('a user without rights counts user space, under both names', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => (attr.flags.excludeKernel === 0 ? 'EACCES' : null);
  using session = openCounting({ target: THREAD, events: 'cs', sys, paranoid: 2 });
  const [event] = session.read().sets[0]!.events;
  assert.deepEqual([event!.name, event!.requestedName], ['cs:u', 'cs']);
});

test('what was opened before a failure is closed', () => {
  const before = liveHandles().length;
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => (attr.config === 2n ? 'EBUSY' : null);
  assert.throws(() => openCounting({ target: THREAD, sets: ['cs', 'migrations,faults'], sys }), /in use/);
  assert.deepEqual(sys.closed.sort(), [3, 4]);
  assert.equal(liveHandles().length, before);
});

test('sets that take turns are scaled to the time of all', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: THREAD, sets: ['cs', 'faults'], sys });
  session.start();
  // Each set sees half of the time: 100 per slice of 10 ns, always the same.
  for (let slice = 1; slice <= 8; slice++) {
    sys.timeNs += 10n;
    const fd = slice % 2 === 1 ? 3 : 4;
    const times = BigInt(Math.ceil(slice / 2)) * 10n;
    sys.readings.set(fd, [times * 10n, times, times]);
    session.next();
  }
  const { sets, elapsedNs } = session.read();
  assert.equal(elapsedNs, 80n);
  for (const { events, timesLoaded, loadedNs } of sets) {
    const [{ value, scaled, enabledNs, runningNs, errorBound } = assert.fail()] = events;
    assert.deepEqual([value, scaled, enabledNs, runningNs, errorBound], [400n, 800n, 80n, 40n, 2]);
    assert.ok(timesLoaded >= 4);
    assert.equal(loadedNs, 40n);
  }
  assert.equal(session.switching.switches, 8);
  // What repeats a call for children that are being forked comes after both sets are switched.
  const first = ['enable 3', 'enable 3', 'enable 3', 'disable 3', 'enable 4', 'disable 3'];
  assert.deepEqual(sys.controls.slice(0, 6), first);
  assert.throws(() => session.next('nothing'), /no event set nothing/);
});

test('counters of whole CPUs have no children: one call starts each, and one stops it', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: { kind: 'cpus', cpus: [0] }, events: 'cs', sys });
  session.start();
  session.stop();
  assert.deepEqual(sys.controls, ['enable 3', 'disable 3']);
});

test('a reset is a baseline: the counter itself is left alone', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: THREAD, events: 'cs,faults', sys });
  session.start();
  sys.readings.set(3, [50n, 10n, 10n]);
  sys.readings.set(4, [70n, 10n, 10n]);
  session.reset(['cs']);
  sys.readings.set(3, [65n, 20n, 20n]);
  sys.readings.set(4, [90n, 20n, 20n]);
  assert.deepEqual(
    session.read().sets[0]!.events.map(({ value, enabledNs }) => [value, enabledNs]),
    [
      [15n, 10n],
      [90n, 20n],
    ],
  );
  assert.ok(!sys.controls.some((control) => control.startsWith('reset')));
});

test('a reset of one event of sets that take turns begins its time anew, too', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: THREAD, sets: ['cs', 'faults'], sys });
  session.start();
  const slice = (fd: number, times: bigint) => {
    sys.timeNs += 10n;
    sys.readings.set(fd, [times * 10n, times, times]);
    session.next();
  };
  for (const times of [10n, 20n, 30n]) for (const fd of [3, 4]) slice(fd, times);
  session.reset(['cs']);
  for (const fd of [3, 4]) slice(fd, 40n);
  const [cs, faults] = session.read().sets.map(({ events }) => events[0]!);
  assert.deepEqual([cs!.value, cs!.runningNs, cs!.enabledNs, cs!.scaled], [100n, 10n, 20n, 200n]);
  assert.deepEqual(
    [faults!.value, faults!.runningNs, faults!.enabledNs, faults!.scaled],
    [400n, 40n, 80n, 800n],
  );
});

test('sums that an update preserves keep the time for which they were wanted', () => {
  const sys = new FakeSys();
  const sets = ['cs', 'faults'];
  using session = openCounting({ target: THREAD, sets, sys });
  session.start();
  for (const times of [10n, 20n])
    for (const fd of [3, 4]) {
      sys.readings.set(fd, [times * 10n, times, times]);
      session.next();
    }
  session.update({ sets }, ['cs']);
  const [cs, faults] = session.read().sets.map(({ events }) => events[0]!);
  assert.deepEqual([cs!.value, cs!.runningNs, cs!.enabledNs, cs!.scaled], [200n, 20n, 40n, 400n]);
  assert.deepEqual([faults!.value, faults!.status], [0n, 'not-counted']);
});

test('readings in between do not make the bound of the error smaller', () => {
  const boundOf = (readingsPerSlice: number) => {
    const sys = new FakeSys();
    using session = openCounting({ target: THREAD, sets: ['cs', 'faults'], sys });
    session.start();
    let value = 0n;
    for (let slice = 1n; slice <= 6n; slice++) {
      value += 100n + 10n * (slice % 3n);
      for (const fd of [3, 4]) {
        sys.timeNs += 10n;
        sys.readings.set(fd, [value, slice * 10n, slice * 10n]);
        for (let reading = 0; reading < readingsPerSlice; reading++) session.read();
        session.next();
      }
    }
    return session.read().sets[0]!.events[0]!.errorBound!;
  };
  assert.ok(boundOf(0) > 0);
  assert.equal(boundOf(5), boundOf(0));
});

test('time in which sets are switched is in the bound of the error', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: THREAD, sets: ['cs', 'faults'], sys });
  // Each question for the time takes 1 ns: that is how long a switch takes.
  const clock = sys.clockNs.bind(sys);
  sys.clockNs = () => {
    sys.timeNs += 1n;
    return clock();
  };
  session.start();
  for (let slice = 1; slice <= 200; slice++) {
    sys.timeNs += 98n;
    const times = BigInt(Math.ceil(slice / 2)) * 100n;
    sys.readings.set(slice % 2 === 1 ? 3 : 4, [times * 10n, times, times]);
    session.next();
  }
  session.stop();
  const { blindNs } = session.switching;
  assert.equal(blindNs, 200n);
  // 10 a nanosecond, always: 200 ns went unseen.
  const [event] = session.read().sets[0]!.events;
  assert.equal(event!.scaled, 200_000n);
  assert.ok(event!.errorBound! >= 2000 && event!.errorBound! < 2200, `${event!.errorBound}`);
  session.reset();
  sys.readings.set(3, [110_000n, 11_000n, 11_000n]);
  assert.equal(session.read().sets[0]!.events[0]!.errorBound, 0);
});

test('what the tool measures begins again with a reset and an update, too', () => {
  const sys = new FakeSys();
  using session = openCounting({ target: THREAD, events: 'duration_time,cs', sys });
  const duration = () => session.read().sets[0]!.events[0]!.value;
  session.start();
  sys.timeNs += 100n;
  assert.equal(duration(), 100n);
  session.reset(['duration_time']);
  sys.timeNs += 30n;
  assert.equal(duration(), 30n);
  session.update({ events: 'duration_time,faults' });
  sys.timeNs += 7n;
  assert.equal(duration(), 7n);
  session.update({ events: 'duration_time' }, 'all');
  sys.timeNs += 3n;
  assert.equal(duration(), 10n);
  session.reset();
  assert.equal(duration(), 0n);
  assert.equal(session.read().elapsedNs, 0n);
});

test('a pinned event that gets no counter says so', () => {
  const sys = new FakeSys();
  sys.read = () => 0;
  using session = openCounting({ target: THREAD, events: 'cs', pinned: true, sys });
  const [event] = session.read().sets[0]!.events;
  assert.deepEqual(
    [event!.status, event!.reason],
    ['not-counted', 'it is pinned, but no counter was free for it'],
  );
  assert.equal(sys.events[0]!.attr.flags.pinned, 1);
});

test('the bound of the error holds for about 95 of 100 estimates', () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  let inside = 0;
  const trials = 1000;
  for (let trial = 0; trial < trials; trial++) {
    const slices = Array.from(
      { length: 60 },
      () => 1000 + Math.floor((random() + random() + random()) * 400),
    );
    const statistics = new SliceStatistics();
    const seen = slices.filter((_, index) => index % 3 === 0);
    for (const value of seen) statistics.add({ value: BigInt(value), enabledNs: 100n, runningNs: 100n });
    const truth = slices.reduce((sum, value) => sum + value, 0);
    const estimate = seen.reduce((sum, value) => sum + value, 0) * 3;
    const bound = statistics.errorBound({ value: 0n, enabledNs: 6000n, runningNs: 2000n })!;
    if (Math.abs(truth - estimate) <= bound) inside++;
  }
  assert.ok(inside > trials * 0.92 && inside < trials * 0.98, `${inside} of ${trials}`);
  assert.equal(new SliceStatistics().errorBound({ value: 1n, enabledNs: 10n, runningNs: 10n }), 0);
  assert.equal(new SliceStatistics().errorBound({ value: 1n, enabledNs: 10n, runningNs: 5n }), null);
  // Tables of the distribution: 2.086 at 20, 1.98 at 120.
  assert.ok(Math.abs(studentT95(20) - 2.086) < 0.01 && Math.abs(studentT95(120) - 1.98) < 0.01);
});

test('without a described PMU the kernel’s own events are still planned as such', () => {
  const { events } = planCounting({ target: THREAD, events: 'faults,duration_time,cycles' }).sets[0]!;
  assert.deepEqual(
    planCounters(events, []).map(({ kind }) => kind),
    ['software', 'software', 'unknown'],
  );
});

test('an event of another machine can be planned, and not be opened', () => {
  const sys = new FakeSys();
  const event = {
    name: 'OTHER.X',
    attr: makeAttr({ type: 4, config: 0x20d1n }),
    group: null,
    isLeader: true,
    periodGiven: false,
    suggestedPeriod: 2003n,
    foreignPmu: 'GenuineIntel-6-FFF',
    options: {},
  };
  const [planned] = planCounting({ target: THREAD, events: [event] }).sets[0]!.events;
  assert.deepEqual(
    [planned!.attr.config, planned!.attr.samplePeriodOrFreq, planned!.foreignPmu],
    [0x20d1n, 0n, 'GenuineIntel-6-FFF'],
  );
  assert.throws(() => openCounting({ target: THREAD, events: [event], sys }), {
    code: 'ERR_FOREIGN_EVENT',
    message: /^OTHER\.X is an event of GenuineIntel-6-FFF/,
  });
  assert.deepEqual(liveHandles(), []);
});

test('a stop before the exec that cannot have its rings anew leaves nothing open, and can be tried again', () => {
  const before = liveHandles().length;
  const sys = new FakeSys();
  const overflows = [{ event: 'faults', period: 10 }];
  const target = { kind: 'command', pid: process.pid } as const;
  {
    using session = openCounting({ target, events: 'faults', inherit: false, overflows, sys });
    session.start();
    const open = liveHandles().length;
    sys.refuseMmap = () => 'EPERM';
    assert.throws(() => session.stop(), { code: 'ERR_LOCKED_MEMORY' });
    assert.equal(liveHandles().length, open);
    sys.refuseMmap = () => null;
    session.start();
    session.stop();
    assert.equal(sys.events.at(-1)!.attr.flags.enableOnExec, 0);
    assert.equal(liveHandles().length, open);
  }
  assert.equal(liveHandles().length, before);
});
