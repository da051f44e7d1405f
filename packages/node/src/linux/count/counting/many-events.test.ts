import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ParsedEvent } from '@counterpoint/core/events';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { parseList } from '../requests/request.ts';
import { openCounting, planCounting } from './index.ts';

/** Nothing may look through all events for each: with thousands of them that was most of the time. */

const THREAD = { kind: 'threads', tids: [process.pid] } as const;

function manyTimes(text: string, count: number): ParsedEvent[] {
  const [event] = parseList(text);
  return Array.from({ length: count }, () => event!);
}

/** CPU time: others on the machine do not count. */
function cpuMs(job: () => void): number {
  const before = process.cpuUsage();
  job();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** How many times as long 32 times as much takes: about that, or up to 1024 where it is quadratic. */
function growth(job: (events: number) => void): number {
  job(500);
  const least = (events: number) => Math.min(...Array.from({ length: 3 }, () => cpuMs(() => job(events))));
  return least(16_000) / Math.max(least(500), 1);
}

test('planning thousands of events takes time in proportion', () => {
  const times = growth((count) => planCounting({ target: THREAD, events: manyTimes('cs', count) }));
  assert.ok(times < 300, `32 times as many events took ${times.toFixed(0)} times as long`);
});

test('opening events that are all refused, and their reasons, too', () => {
  const times = growth((count) => {
    const sys = new FakeSys();
    sys.refuseOpen = () => 'ENOENT';
    using session = openCounting({ target: THREAD, events: manyTimes('cs', count), sys });
    assert.match(session.read().sets[0]!.events[count - 1]!.reason!, /no such event/);
  });
  assert.ok(times < 300, `32 times as many events took ${times.toFixed(0)} times as long`);
});
