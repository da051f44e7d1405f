import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import {
  EDGE_CALLS,
  EDGE_CALLS_MASK,
  EDGE_COUNT,
  EDGE_HASH,
  EDGE_HASH_ROW,
  EDGE_HI,
  EDGE_LENGTH,
  EDGE_LO,
  EDGE_NEXT,
  EDGE_ROW,
  EDGE_SHIFT,
  EdgeCache,
} from './edge-cache.ts';

/** As the loop looks for it: its record, -1 where there is none. */
function find({ records, shift }: EdgeCache, row: number, lo: number, hi: number): number {
  let at = (Math.imul(lo ^ Math.imul(row, EDGE_HASH_ROW), EDGE_HASH) >>> shift) << EDGE_SHIFT;
  for (; records[at + EDGE_ROW] !== 0; at = (at + EDGE_LENGTH) % records.length)
    if (records[at] === row && records[at + EDGE_LO] === lo && records[at + EDGE_HI] === hi) return at;
  return -1;
}

test('edges are found again while the table grows, and counted once', () => {
  const random = new Random(7);
  const cache = new EdgeCache();
  const known = new Map<string, { node: number; next: number; calls: number[]; count: number }>();
  for (let round = 0; round < 40_000; round++) {
    const node = 1 + random.below(500);
    const row = node << 8;
    const lo = random.below(200) * 16 - 1600;
    const hi = random.below(3) - 1;
    const key = `${row} ${lo} ${hi}`;
    const at = find(cache, row, lo, hi);
    assert.equal(at >= 0, known.has(key));
    if (at >= 0) {
      cache.records[at + EDGE_COUNT]! += 1;
      known.get(key)!.count++;
      continue;
    }
    const next = (1 + random.below(500)) << 8;
    const calls = Array.from({ length: random.below(3) }, () => (1 + random.below(500)) << 8);
    cache.add(row, lo, hi, next, node, calls);
    // Once more changes nothing.
    cache.add(row, lo, hi, 256, 1, []);
    known.set(key, { node, next, calls, count: 0 });
  }
  for (const [key, { next, calls }] of known) {
    const [row, lo, hi] = key.split(' ').map(Number) as [number, number, number];
    const at = find(cache, row, lo, hi);
    const said = cache.records[at + EDGE_NEXT]!;
    assert.equal(said & ~EDGE_CALLS_MASK, next);
    const first = at + EDGE_CALLS;
    assert.deepEqual([...cache.records.subarray(first, first + (said & EDGE_CALLS_MASK))], calls);
  }
  const counted = (): Map<string, number> => {
    const sums = new Map<string, number>();
    cache.drain((node, row, count) => sums.set(`${node} ${row}`, (sums.get(`${node} ${row}`) ?? 0) + count));
    return sums;
  };
  const expected = new Map<string, number>();
  for (const { node, next, count } of known.values())
    if (count > 0) expected.set(`${node} ${next}`, (expected.get(`${node} ${next}`) ?? 0) + count);
  assert.deepEqual([...counted()].sort(), [...expected].sort());
  assert.equal(counted().size, 0);
  cache.clear();
  assert.equal(find(cache, 256, 0, 0), -1);
});
