import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_RECORD_LOST } from '@counterpoint/core/abi';
import { LossWatch } from './loss-watch.ts';

test('the events’ own counts add only what no LOST record told', () => {
  const watch = new LossWatch(() => 'cpu-clock');
  watch.add({ type: PERF_RECORD_LOST, misc: 0, id: 1n, lost: 20n, tail: new Uint8Array() }, 0);
  watch.finish([
    { name: 'cpu-clock', lostSamples: 23n },
    { name: 'dummy', lostSamples: 0n },
    { name: 'old', lostSamples: null },
  ]);
  assert.deepEqual(
    watch.ledger.list().map(({ kind, event, cpu, count }) => [kind, event, cpu, count]),
    [
      ['ring-full', 'cpu-clock', 0, '20'],
      ['ring-full', 'cpu-clock', null, '3'],
    ],
  );
});
