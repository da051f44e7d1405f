import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOSS_KINDS, type LossKind, LossLedger } from '../../format/loss/index.ts';
import { Profile } from '../../profile/tables/index.ts';
import { lossLine, lossTotals } from './loss-words.ts';
import { countText, durationText, percentText, weightText } from './numbers.ts';

test('numbers for people', () => {
  assert.equal(countText(0), '0');
  assert.equal(countText(1_234_567), '1,234,567');
  assert.equal(countText(2n ** 64n), '18,446,744,073,709,551,616');
  assert.equal(durationText(0), '0 ns');
  assert.equal(durationText(999), '999 ns');
  assert.equal(durationText(1234), '1.23 µs');
  assert.equal(durationText(999_700), '1.00 ms');
  assert.equal(durationText(12_340_000), '12.3 ms');
  assert.equal(durationText(59.4e9), '59.4 s');
  assert.equal(durationText(61e9), '1 min 1 s');
  assert.equal(durationText(7260e9), '2 h 1 min');
  assert.equal(percentText(1, 3), '33.3%');
  assert.equal(percentText(1, 99), '1.01%');
  assert.equal(percentText(1, 1e9), '<0.01%');
  assert.equal(percentText(0, 5), '0%');
  assert.equal(percentText(5, 0), '0%');
  assert.equal(percentText(99_999, 100_000), '100%');
  assert.equal(weightText(1, 'samples'), '1 sample');
  assert.equal(weightText(1_500_000, 'cycles'), '1.50 M cycles');
  assert.equal(weightText(2e12, 'cycles'), '2.00 T cycles');
});

test('losses of one kind are one sum, a lower bound where any part is', () => {
  const ledger = new LossLedger();
  ledger.add({ kind: 'lost-samples', count: 5, cpu: 0 });
  ledger.add({ kind: 'ring-full', count: 1 });
  ledger.add({ kind: 'lost-samples', count: 12, cpu: 1, exact: false });
  assert.deepEqual(
    lossTotals(ledger.list()).map((total) => total.words),
    [
      'at least 17 samples dropped by the kernel',
      '1 record (samples and others) lost because the ring buffer was full',
    ],
  );
});

test('every kind of loss has words with its count', () => {
  for (const kind of Object.keys(LOSS_KINDS) as LossKind[]) {
    const ledger = new LossLedger();
    ledger.add({ kind, count: 3 });
    assert.match(lossTotals(ledger.list())[0]!.words, /3 [a-z]+/);
  }
});

test('the line says so when nothing was lost, and counts damage', () => {
  const profile = new Profile();
  assert.equal(lossLine(profile), 'nothing lost');
  profile.damage = [{ code: 'BAD_SIZE', count: 2, firstOffset: 8 }];
  assert.equal(lossLine(profile), '2 damaged places in the input');
});
