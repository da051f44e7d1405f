import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { PERF_RECORD_STAT, PERF_RECORD_THREAD_MAP } from '../../format/abi/index.ts';
import { makeAttr, type PerfRecord } from '../../format/records/index.ts';
import { openPerfData, type RecordOrBytes, writePerfData } from '../perfdata/index.ts';
import { countsByOf, numberOfCountsBy } from './aggregation.ts';
import { type CountsStart, readCounts, roundOfCounts, startOfCounts } from './index.ts';

const ATTRS = [
  { attr: makeAttr({ type: 1, config: 1n, sampleType: 1n << 16n }), ids: [7n, 8n], name: 'task-clock' },
  { attr: makeAttr({ type: 0, sampleType: 1n << 16n }), ids: [], name: 'cycles' },
];
const START: CountsStart = {
  events: [{ id: 7n, unit: 'msec', scale: 1e-6 }],
  threads: [
    { tid: 10, name: 'one' },
    { tid: 11, name: '' },
  ],
  cpus: [],
  by: 'thread',
  intervalMs: 100,
  isScaled: true,
};
const count = (id: bigint, thread: number, value: bigint) => ({
  ...{ id, thread, value, cpu: -1 },
  ...{ enabledNs: value * 2n, runningNs: value },
});
const RECORDS = [
  ...startOfCounts(START),
  ...roundOfCounts([count(7n, 0, 5n), count(8n, 1, 1n << 60n)], { isFinal: false, timeNs: 100n }),
  ...roundOfCounts([count(7n, 0, 9n)], { isFinal: true, timeNs: 150n }),
];

async function read(records: readonly RecordOrBytes[], mode: 'file' | 'pipe' = 'file') {
  const bytes = writePerfData({ attrs: ATTRS, records, mode, features: { stat: true } });
  const reader = await openPerfData(memorySource(bytes));
  const counts = await readCounts(reader);
  return { counts, damage: reader.damage.list().map(({ code }) => code) };
}

describe('a recording of counts', () => {
  for (const mode of ['file', 'pipe'] as const)
    test(`comes back as it was written: ${mode}`, async () => {
      const { counts, damage } = await read(RECORDS, mode);
      assert.deepEqual(damage, []);
      const { by, intervalMs, isScaled, threads, events, rounds } = counts!;
      assert.deepEqual([by, intervalMs, isScaled, threads], ['thread', 100, true, START.threads]);
      assert.deepEqual(
        events.map(({ isOpen, unit, scale }) => [isOpen, unit, scale]),
        [
          [true, 'msec', 1e-6],
          [false, null, 1],
        ],
      );
      assert.equal(events[0]!.name, 'task-clock');
      const shown = rounds.map((round) => [
        round.isFinal,
        round.timeNs,
        ...round.counts.map(({ event, cpu, thread, value, enabledNs, runningNs }) =>
          [event, cpu, thread, value, enabledNs, runningNs].join(' '),
        ),
      ]);
      assert.deepEqual(shown, [
        [false, 100n, '0 -1 0 5 10 5', `0 -1 1 ${1n << 60n} ${1n << 61n} ${1n << 60n}`],
        [true, 150n, '0 -1 0 9 18 9'],
      ]);
    });

  test('damage is counted, and the rest is read', async () => {
    const short = new Uint8Array(16);
    new DataView(short.buffer).setUint32(0, PERF_RECORD_STAT, true);
    new DataView(short.buffer).setUint16(6, 16, true);
    const { counts, damage } = await read([
      ...startOfCounts({ ...START, intervalMs: 0 }),
      short,
      ...roundOfCounts([count(99n, 0, 1n), count(7n, 2, 1n), count(7n, 1, 3n)], {
        isFinal: true,
        timeNs: 1n,
      }),
      ...roundOfCounts([count(7n, 0, 4n)], { isFinal: true, timeNs: 2n }).slice(0, 1),
    ]);
    assert.deepEqual(damage, ['short-count', 'unknown-event-id', 'unknown-thread', 'no-round']);
    assert.deepEqual(
      counts!.rounds.map((round) => round.counts.map(({ value }) => value)),
      [[3n]],
    );
  });

  test('no count is of a thread that no map names before it', async () => {
    const round = roundOfCounts([count(7n, 0, 1n), count(7n, 1, 2n)], { isFinal: true, timeNs: 1n });
    const start = startOfCounts({ ...START, intervalMs: 0 });
    const [map, rest] = [true, false].map((isMap) =>
      start.filter(({ type }) => (type === PERF_RECORD_THREAD_MAP) === isMap),
    ) as [PerfRecord[], PerfRecord[]];
    for (const after of [[], map]) {
      const records = [...rest, ...round, ...after];
      const { counts, damage } = await read(records);
      assert.deepEqual(damage, ['unknown-thread']);
      assert.deepEqual(counts!.threads, [{ tid: -1, name: '' }]);
      assert.deepEqual(
        counts!.rounds[0]!.counts.map(({ thread, value }) => [thread, value]),
        [[0, 1n]],
      );
    }
  });

  test('a recording without counts is none', async () => {
    assert.equal((await read([])).counts, null);
  });

  test('has room for so many threads, and says so', () => {
    const threads = Array.from({ length: 3000 }, (_, tid) => ({ tid, name: '' }));
    assert.throws(() => startOfCounts({ ...START, threads }), { code: 'ERR_TOO_MANY_THREADS' });
  });
});

test('what counts were added up over has other numbers in other versions of perf', () => {
  assert.deepEqual(
    ['4.19.1', '5.10.0', '6.1.192', '6.6', '6.12.3', 'counterpoint 0.1.0', undefined].map((version) =>
      countsByOf(5n, version),
    ),
    ['all', 'thread', 'thread', 'core', 'all', 'thread', 'thread'],
  );
  for (const by of ['cpu', 'all', 'socket', 'die', 'core', 'thread', 'node'] as const)
    assert.equal(countsByOf(numberOfCountsBy(by), undefined), by);
  assert.equal(countsByOf(1n << 63n, '6.1'), 'all');
});
