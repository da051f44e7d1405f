import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAttr } from '@counterpoint/core/records';
import { type Measurement, rowsOf } from './index.ts';

/** One event, counted in some threads. */
function measured(counts: Readonly<Record<number, bigint>>): Measurement {
  const places = Object.entries(counts).map(([tid, value]) => ({
    ...{ task: Number(tid), cpu: -1 },
    ...{ value, enabledNs: 10n, runningNs: 10n },
  }));
  const value = places.reduce((sum, place) => sum + place.value, 0n);
  const count = {
    ...{ name: 'cs', requestedName: 'cs', status: 'counted' as const, reason: null },
    ...{ value, scaled: value, enabledNs: 10n, runningNs: 10n, errorBound: 0 },
    ...{ unit: null, scale: 1, leader: null, places },
  };
  const event = { cgroup: null, set: 'cs', index: 0, attr: makeAttr(), tool: null, changes: [], count };
  return { sinceStartNs: 10n, elapsedNs: 10n, times: { userNs: 0n, systemNs: 0n }, events: [event] };
}

test('of several runs each thread is taken together with itself, whichever threads came and went', () => {
  const runs = [measured({ 1000001: 10n, 1000002: 500n }), measured({ 1000002: 700n, 1000003: 30n })];
  const rows = rowsOf(runs, { by: 'thread' });
  assert.deepEqual(
    rows.map(({ place, value }) => [place!.ids[0], value]),
    [
      [1000002, 600],
      [1000003, 30],
      [1000001, 10],
    ],
  );
  assert.deepEqual(
    rowsOf(runs, { by: 'all' }).map(({ value }) => value),
    [620],
  );
});
