import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LossLedger } from '@counterpoint/core/loss';
import { lossLines } from './loss-text.ts';

test('a loss says on how many CPUs it was, not how many entries there are', () => {
  const ledger = new LossLedger();
  for (let index = 0; index < 38; index++)
    ledger.add({ kind: 'format-map-full', event: `map ${index}`, cpu: index % 2, count: 1 });
  ledger.add({ kind: 'format-stack-collision', event: 'cycles', cpu: 1, count: 882 });
  ledger.add({ kind: 'ring-full', count: 1 });
  ledger.add({ kind: 'ring-full', cpu: 1, count: 1 });
  assert.deepEqual(lossLines(ledger.list(), []), [
    '38 samples lost because a map was full (give the format room for more by its options, which counterpoint list formats NAME shows), on 2 CPUs',
    '882 call stacks lost because their table was full: their samples are there, without callers (give the format room for more stacks by its options, which counterpoint list formats NAME shows)',
    '2 records (samples, mappings, forks and exits) lost because a ring buffer was full (give a larger -m or a lower -F)',
  ]);
});
