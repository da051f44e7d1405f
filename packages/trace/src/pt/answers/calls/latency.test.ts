import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../core/src/test/random.ts';
import { AddressTable, CallRecord, Distribution, FunctionLatency } from './index.ts';

const PERCENTS = [0, 1, 50, 90, 99, 99.9, 100];

function nearestRank(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1]!;
}

test('percentiles: exact for few values, within the stated resolution for many', () => {
  const random = new Random(4);
  for (const size of [1, 2, 100, 16_384, 16_385, 60_000]) {
    const distribution = new Distribution();
    const values: number[] = [];
    for (let at = 0; at < size; at++) {
      const value = random.below(2 ** (1 + random.below(30))) * (random.below(8) === 0 ? 2 ** 20 : 1);
      values.push(value);
      distribution.add(value);
    }
    values.sort((a, b) => a - b);
    assert.equal(distribution.resolution === 0, size <= 16_384);
    assert.deepEqual([distribution.min, distribution.max], [values[0], values.at(-1)]);
    for (const percent of PERCENTS) {
      const exact = nearestRank(values, percent);
      const found = distribution.percentile(percent);
      const bound = exact * (1 + distribution.resolution);
      assert.ok(found >= exact && found <= bound, `${size} values, ${percent}%: ${found}, not ${exact}`);
    }
  }
  assert.ok(Number.isNaN(new Distribution().percentile(50)));
});

test('around powers of two each value is in its class', () => {
  for (let power = 1; power < 50; power++)
    for (const value of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
      const distribution = new Distribution();
      for (let at = 0; at < 20_000; at++) distribution.add(value);
      distribution.add(2 ** 52);
      distribution.add(0);
      const found = distribution.percentile(50);
      assert.ok(found >= value && found <= value * (1 + 1 / 64), `${value}: ${found}`);
    }
});

test('calls by caller; what did not come back is not counted as if it had', () => {
  const addresses = new AddressTable();
  const latency = new FunctionLatency(addresses, 0x1000, 0);
  const record = new CallRecord();
  const call = (callerRow: number, left: number, ticks: number) => {
    Object.assign(record, { kind: 1, left, functionRow: addresses.rowOf(0x1000, 0), callerRow });
    Object.assign(record, { enterTicks: 100, leaveTicks: 100 + ticks, instructions: 7 });
    latency.add(record);
  };
  const first = addresses.rowOf(0x2000, 0);
  const second = addresses.rowOf(0x3000, 0);
  call(first, 1, 10);
  call(first, 2, 30);
  call(second, 1, 50);
  call(second, 3, 70);
  call(second, 5, 70);
  call(-1, 1, 70);
  call(second, 1, Number.NaN);
  record.functionRow = first;
  latency.add(record);
  assert.deepEqual([latency.ticks.count, latency.unfinished, latency.untimed], [3, 3, 1]);
  assert.equal(latency.instructions.count, 4);
  assert.deepEqual(
    latency.callers().map(({ callerRow, ticks }) => [callerRow, ticks.count, ticks.mean]),
    [
      [second, 1, 50],
      [first, 2, 20],
    ],
  );
});

test('an address of kernel code, with halves of either sign', () => {
  for (const [lo, hi] of [
    [0x8100_1000, 0xffff_ffff],
    [0x8100_1000 | 0, -1],
  ] as const) {
    const addresses = new AddressTable();
    const latency = new FunctionLatency(addresses, lo, hi);
    const record = new CallRecord();
    const row = addresses.rowOf(0x8100_1000 | 0, -1);
    Object.assign(record, {
      kind: 1,
      left: 1,
      functionRow: row,
      callerRow: row,
      enterTicks: 1,
      leaveTicks: 4,
    });
    latency.add(record);
    assert.deepEqual([latency.ticks.count, latency.ticks.sum], [1, 3]);
  }
});
