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
    '38 samples that a full map had no room for (a larger max-entries, max-threads or what else the format names it: counterpoint list formats), on 2 CPUs',
    '882 call stacks, for which no place was left: their samples are there, without callers (a larger max-stacks: counterpoint list formats)',
    '2 records (samples, and those of mappings, forks and exits) lost because a ring buffer was full (larger -m, or a lower -F)',
  ]);
});
