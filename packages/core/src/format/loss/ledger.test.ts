import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LossLedger } from './index.ts';

test('entries are JSON as they stand; totals are per kind', () => {
  const ledger = new LossLedger();
  assert.equal(ledger.isEmpty, true);
  ledger.add({ kind: 'ring-full', event: 'cycles', cpu: 1, count: 5n, fromNs: 1n, toNs: 9n });
  ledger.add({ kind: 'ring-full', event: 'cycles', cpu: 2, count: 7n });
  assert.deepEqual(JSON.parse(JSON.stringify(ledger.list()))[0], {
    kind: 'ring-full',
    event: 'cycles',
    cpu: 1,
    tid: null,
    fromNs: '1',
    toNs: '9',
    count: '5',
    unit: 'records',
    exact: true,
  });
  assert.equal(ledger.totals().get('ring-full'), 12n);
});

test('a million losses stay a bounded ledger with the right sum', () => {
  const ledger = new LossLedger();
  for (let i = 0; i < 1_000_000; i++)
    ledger.add({ kind: 'ring-full', event: `e${i % 9000}`, cpu: i % 100, count: 2 });
  assert.ok(ledger.list().length < 5000);
  assert.equal(ledger.totals().get('ring-full'), 2_000_000n);
});
