import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_AUX_FLAG_OVERWRITE,
  PERF_AUX_FLAG_TRUNCATED,
  PERF_RECORD_AUX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from '../../abi/index.ts';
import { memorySource } from '../../base/index.ts';
import { collectStats, type StatsAnswer } from '../../query/index.ts';
import type { PerfRecord } from '../../records/index.ts';
import { recording, sample } from '../../test/recordings.ts';
import { openPerfData } from './index.ts';

const tail = new Uint8Array();

function at(time: bigint, cpu: number) {
  return { pid: 10, tid: 11, time, id: 1n, cpu };
}

async function stats(records: PerfRecord[]): Promise<StatsAnswer> {
  return collectStats(await openPerfData(memorySource(recording(records))));
}

test('a lost record says how much, of what, where, and after which sample', async () => {
  const { loss, events } = await stats([
    sample({ time: 100n, cpu: 3 }),
    sample({ time: 150n, cpu: 2 }),
    { type: PERF_RECORD_LOST, misc: 0, id: 1n, lost: 42n, tail, sampleId: at(200n, 3) },
  ]);
  assert.deepEqual(loss, [
    {
      kind: 'ring-full',
      event: 'cpu-clock',
      cpu: 3,
      tid: 11,
      fromNs: '100',
      toNs: '200',
      count: '42',
      unit: 'records',
      exact: true,
    },
  ]);
  assert.equal(events[0]?.lost, 42);
});

test('what the kernel counted as lost samples is preferred per event, and both stand in the ledger', async () => {
  const { loss, events } = await stats([
    { type: PERF_RECORD_LOST, misc: 0, id: 1n, lost: 42n, tail, sampleId: at(200n, 3) },
    { type: PERF_RECORD_LOST_SAMPLES, misc: 0, lost: 40n, tail, sampleId: at(300n, 0) },
  ]);
  assert.deepEqual(
    loss.map(({ kind, count }) => [kind, count]),
    [
      ['ring-full', '42'],
      ['lost-samples', '40'],
    ],
  );
  assert.equal(events[0]?.lost, 40);
});

test('throttling is time from the one record to the other; without the other it is open', async () => {
  const throttle = (
    type: typeof PERF_RECORD_THROTTLE | typeof PERF_RECORD_UNTHROTTLE,
    time: bigint,
    streamId: bigint,
  ) => ({ type, misc: 0, time, id: 1n, streamId, tail, sampleId: at(time, 1) }) as PerfRecord;
  const { loss } = await stats([
    throttle(PERF_RECORD_THROTTLE, 1000n, 7n),
    throttle(PERF_RECORD_THROTTLE, 1100n, 8n),
    throttle(PERF_RECORD_UNTHROTTLE, 1600n, 7n),
  ]);
  assert.deepEqual(
    loss.map(({ kind, count, fromNs, toNs, exact }) => [kind, count, fromNs, toNs, exact]),
    [
      ['throttled', '600', '1000', '1600', true],
      ['throttled', '0', '1100', null, false],
    ],
  );
});

test('flags of AUX records', async () => {
  const aux = (flags: number): PerfRecord => ({
    type: PERF_RECORD_AUX,
    misc: 0,
    auxOffset: 0n,
    auxSize: 64n,
    flags: BigInt(flags),
    tail,
    sampleId: at(500n, 0),
  });
  const { loss } = await stats([aux(0), aux(PERF_AUX_FLAG_TRUNCATED), aux(PERF_AUX_FLAG_OVERWRITE)]);
  assert.deepEqual(
    loss.map(({ kind }) => kind),
    ['aux-truncated', 'aux-overwritten'],
  );
});

test('a recording without loss has an empty ledger', async () => {
  const answer = await stats([sample({ time: 1n })]);
  assert.deepEqual(answer.loss, []);
  assert.deepEqual(answer.damage, []);
});
