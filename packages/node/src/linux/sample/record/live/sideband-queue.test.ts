import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_RECORD_COMM } from '@counterpoint/core/abi';
import type { PerfRecord } from '@counterpoint/core/records';
import fc from 'fast-check';
import { SidebandQueue } from './sideband-queue.ts';

function at(time: bigint): PerfRecord {
  return {
    type: PERF_RECORD_COMM,
    misc: 0,
    tail: new Uint8Array(0),
    pid: 1,
    tid: 1,
    comm: '',
    sampleId: { time },
  };
}

const timesOf = (records: readonly PerfRecord[]) => records.map(({ sampleId }) => sampleId?.time);

test('records come in order of time, and what a later pass may precede waits', () => {
  const queue = new SidebandQueue();
  for (const time of [5n, 3n, 4n, 9n]) queue.add(at(time));
  const mark = queue.mark();
  for (const time of [10n, 11n, 8n]) queue.add(at(time));
  assert.deepEqual(timesOf(queue.release(mark)), [3n, 4n, 5n, 8n, 9n]);
  assert.deepEqual(timesOf(queue.release(mark)), []);
  assert.deepEqual(timesOf(queue.release(queue.mark())), [10n, 11n]);
});

test('whatever the CPUs write meanwhile, the order is that of time', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()), { maxLength: 60 }),
      (steps) => {
        // Time goes on; each record is in the ring of a CPU until a pass takes all that
        // was there when it began.
        const queue = new SidebandQueue();
        const rings: bigint[][] = [[], [], [], []];
        const released: unknown[] = [];
        let now = 0n;
        const pass = () => {
          for (const ring of rings) for (const time of ring.splice(0)) queue.add(at(time));
        };
        for (const [cpu, isLook] of [...steps, [0, true] as const, [0, true] as const]) {
          rings[cpu]!.push(++now);
          if (!isLook) continue;
          pass();
          const mark = queue.mark();
          pass();
          released.push(...timesOf(queue.release(mark)));
        }
        assert.deepEqual(
          released,
          Array.from({ length: Number(now) }, (_, index) => BigInt(index + 1)),
        );
      },
    ),
  );
});
