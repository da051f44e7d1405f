import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FinishedRounds } from './finished-rounds.ts';

test('marks that settle what a late record comes before are taken back', () => {
  const rounds = new FinishedRounds();
  for (const timeNs of [10, 20, 30, 40]) assert.deepEqual(rounds.add(1000 + timeNs, timeNs), []);
  assert.deepEqual(rounds.settleAfter(35), []);
  assert.deepEqual(rounds.settleAfter(15), [1040, 1030]);
  assert.deepEqual(rounds.settleAfter(15), []);
  assert.deepEqual(rounds.settleAfter(5), [1020]);
  assert.deepEqual(rounds.settleAfter(0), []);
});

test('records come out in order, however late some are, as readers order them', () => {
  const step = fc.record({
    kind: fc.constantFrom('record', 'late', 'mark', 'mark'),
    lateness: fc.integer({ min: 0, max: 40 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 2, max: 8 }), (steps, most) => {
      const rounds = new FinishedRounds(most);
      /** Times of records; null: a mark; undefined: one that was taken back. */
      const file: (number | null | undefined)[] = [];
      steps.forEach(({ kind, lateness }, now) => {
        const timeNs = kind === 'late' ? now - lateness : now;
        const takenBack = kind === 'mark' ? rounds.add(file.push(null) - 1, now) : rounds.settleAfter(timeNs);
        for (const offset of takenBack) file[offset] = undefined;
        if (kind !== 'mark') file.push(timeNs);
      });
      let newest = -Infinity;
      let settled = -Infinity;
      let delivered = -Infinity;
      for (const entry of file) {
        if (entry === null) {
          delivered = settled;
          settled = newest;
        } else if (entry !== undefined) {
          assert.ok(entry >= delivered, `${entry} after ${delivered} was settled: ${file}`);
          newest = Math.max(newest, entry);
        }
      }
    }),
  );
});

test('marks are bounded: they grow sparse', () => {
  const rounds = new FinishedRounds(4);
  const dropped = Array.from({ length: 100 }, (_, index) => rounds.add(index, index)).flat();
  assert.ok(dropped.length >= 96, `${dropped.length}`);
  rounds.cutAt(1);
  assert.deepEqual(rounds.settleAfter(-1), []);
});
