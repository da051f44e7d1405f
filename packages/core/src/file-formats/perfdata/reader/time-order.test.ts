import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orderByTime } from './time-order.ts';

test('orders as a stable sort does', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 200 }), (values) => {
      const times = Float64Array.from(values);
      const order = new Int32Array(values.length);
      const sorted = orderByTime(times, values.length, order, new Int32Array(values.length));
      const wanted = values.map((_, index) => index).sort((a, b) => values[a]! - values[b]! || a - b);
      assert.deepEqual([...sorted.subarray(0, values.length)], wanted);
    }),
  );
});

test('merges the runs of several rings', () => {
  const times = Float64Array.of(1, 4, 7, 2, 3, 9, 5, 6);
  const sorted = orderByTime(times, 8, new Int32Array(8), new Int32Array(8));
  assert.deepEqual(
    [...sorted].map((index) => times[index]),
    [1, 2, 3, 4, 5, 6, 7, 9],
  );
});
