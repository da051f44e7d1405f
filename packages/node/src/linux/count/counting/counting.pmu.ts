import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { spinCpu } from '../../../test/until-told.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { openCounting, planCounters, planCounting } from './index.ts';

// Hardware counters that are fewer than the events: seven, one of them for cycles alone.

afterEach(() => assert.deepEqual(liveHandles(), []));

test('more events than counters are scaled to the truth', () => {
  const names = Array.from({ length: 10 }, (_, index) => `cycles/name=c${index}/`).join(',');
  using session = openCounting({ target: { kind: 'self' }, events: names });
  session.start();
  for (let read = 0; read < 30; read++) {
    spinCpu(20);
    session.read();
  }
  session.stop();
  const events = session.read().sets[0]!.events;
  assert.ok(
    events.some(({ enabledNs, runningNs }) => runningNs < enabledNs),
    'nothing was multiplexed',
  );
  const scaled = events.map((event) => Number(event.scaled));
  const middle = scaled.toSorted?.((a, b) => a - b)[5] ?? scaled[5]!;
  for (const { name, value, scaled: estimate, runningNs, enabledNs, errorBound, status } of events) {
    assert.equal(status, 'counted');
    assert.ok(
      Math.abs(Number(estimate) - middle) < 0.2 * middle,
      `${name}: ${estimate}, the middle is ${middle}`,
    );
    if (runningNs < enabledNs) assert.ok(value! < estimate! && errorBound !== null && errorBound > 0, name);
  }
});

test('a group that can never be scheduled says so', () => {
  const group = `{${Array.from({ length: 12 }, (_, index) => `cycles/name=g${index}/`).join(',')}}`;
  using session = openCounting({ target: { kind: 'self' }, events: group });
  session.start();
  spinCpu(50);
  const events = session.read().sets[0]!.events;
  const missing = events.filter(({ status }) => status !== 'counted');
  assert.ok(missing.length > 0);
  for (const { reason } of missing) assert.match(reason!, /12 .*counters|counters.*12/);
});

test('which counter an event is on is planned, and asked of the kernel', () => {
  writeFileSync('/proc/sys/kernel/perf_user_access', '1');
  const events = `{${Array.from({ length: 3 }, (_, index) => `armv8_pmuv3/event=0x11,rdpmc=1,name=p${index}/`).join(',')}}`;
  const request = { target: { kind: 'self' }, events } as const;
  const planned = planCounters(planCounting(request).sets[0]!.events);
  assert.deepEqual(
    planned.map(({ kind, share }) => [kind, share]),
    [
      ['counter', 1],
      ['counter', 1],
      ['counter', 1],
    ],
  );
  using session = openCounting(request);
  session.start();
  spinCpu(5);
  const real = session.realCounters();
  assert.deepEqual(
    real.map(({ counter }) => counter).sort(),
    planned.flatMap(({ counters }) => counters).sort(),
  );
});

test('events that this PMU does not have give the reason', () => {
  using session = openCounting({ target: { kind: 'self' }, events: 'branches,cycles' });
  session.start();
  spinCpu(5);
  const [branches, cycles] = session.read().sets[0]!.events;
  assert.deepEqual(
    [branches!.status, branches!.reason],
    ['not-supported', 'the PMU has no such event (ENOENT)'],
  );
  assert.ok(cycles!.value! > 0n);
});

test('a pinned event that finds no counter is told apart', () => {
  const holders = Array.from({ length: 7 }, (_, index) => `cycles/name=h${index}/`).join(',');
  using first = openCounting({ target: { kind: 'self' }, events: holders, pinned: true });
  using second = openCounting({ target: { kind: 'self' }, events: 'cycles', pinned: true });
  first.start();
  second.start();
  spinCpu(20);
  const [event] = second.read().sets[0]!.events;
  assert.deepEqual(
    [event!.status, event!.reason],
    ['not-counted', 'it is pinned, but no counter was free for it'],
  );
});
