import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/random.ts';
import { orderByAddress } from './sort-addresses.ts';

/** The obvious way. */
function slowOrder(keys: Float64Array): number[] {
  return [...keys.keys()].sort((a, b) => keys[a]! - keys[b]! || a - b);
}

test('the order is that of a stable sort, for keys of any spread', () => {
  const random = new Random(5);
  for (const spread of [1, 50, 2 ** 16, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 48]) {
    for (const count of [0, 1, 2, 300]) {
      const smallest = random.pick([0, 0x40_0000, -(2 ** 47), -0x7f00_0000]);
      const keys = Float64Array.from(
        { length: count },
        () => smallest + (Number(random.u64() >> 11n) % spread),
      );
      assert.deepEqual([...orderByAddress(keys)], slowOrder(keys), `${count} of ${spread}`);
    }
  }
});
