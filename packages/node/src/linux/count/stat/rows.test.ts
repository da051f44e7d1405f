import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { makeAttr } from '@counterpoint/core/records';
import { countText } from '../../../cli/measuring/stat/text.ts';
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

test('rates of several runs are made of the exact mean, which is what stands beside them', () => {
  const run = (switches: bigint): Measurement => {
    const [event] = measured({}).events;
    const count = { ...event!.count, value: switches, scaled: switches };
    const clock = {
      ...event!.count,
      ...{ value: 2_000_000n, scaled: 2_000_000n, unit: 'msec', scale: 1e-6 },
    };
    const attr = (config: bigint) => makeAttr({ type: PERF_TYPE_SOFTWARE, config });
    const events = [
      { ...event!, attr: attr(3n), count },
      { ...event!, index: 1, attr: attr(1n), count: clock },
    ];
    return { ...measured({}), elapsedNs: 4_000_000n, events };
  };
  const runs = [0n, 0n, 0n, 1n].map(run);
  const [switches, clock] = rowsOf(runs, { by: 'all' });
  assert.deepEqual([switches!.value, switches!.metrics[0]!.value], [0.25, 125]);
  assert.deepEqual([clock!.value, clock!.metrics[0]!.value], [2, 0.5]);
  assert.deepEqual(
    [switches!, rowsOf([run(1n)], { by: 'all' })[0]!, rowsOf([run(200n), run(201n)], { by: 'all' })[0]!].map(
      (row) => countText(row, false),
    ),
    ['0.25', '1', '201'],
  );
});
