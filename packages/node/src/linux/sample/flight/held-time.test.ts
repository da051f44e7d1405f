import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HistoryRing } from '@counterpoint/core/ring';
import { HeldTime } from './held-time.ts';

const SECOND_NS = 1e9;
const RING_BYTES = 1 << 16;

/** Rings that are written at some rate, and looked at each second. */
function watched(bytesPerSecond: readonly number[], keepMs: number) {
  let seconds = 0;
  const rings = bytesPerSecond.map(
    (rate) => new HistoryRing({ data: new Uint8Array(RING_BYTES), writtenBytes: () => rate * seconds }),
  );
  const held = new HeldTime(rings, keepMs);
  const runTo = (end: number) => {
    for (; seconds < end; seconds++) held.mark(seconds * SECOND_NS);
  };
  return { held, runTo, heldMs: () => held.heldMs(seconds * SECOND_NS, 0) };
}

test('a ring holds what was written since it had so much less', () => {
  // 64 KiB at 8 KiB/s: eight seconds, of which the first is not whole.
  const { held, runTo, heldMs } = watched([8192, 0], 30_000);
  runTo(5);
  assert.equal(heldMs(), 5000);
  runTo(100);
  assert.equal(heldMs(), 8000);
  assert.equal(held.highestRate(100 * SECOND_NS), 8192);
});

test('what is remembered of days is as much as of a minute, also where a ring is never full', () => {
  for (const [rates, isLong] of [
    [[8192, 0], false],
    [[0, 0], true],
    [[1, 2], true],
  ] as const) {
    const { held, runTo, heldMs } = watched(rates, 30_000);
    runTo(86_400);
    assert.ok(held.marks <= 32, `${held.marks}`);
    if (isLong) assert.ok(heldMs() >= 30_000, `${heldMs()}`);
    else assert.equal(heldMs(), 8000);
  }
});
