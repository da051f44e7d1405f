import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OffCpuSpans } from './off-cpu-spans.ts';
import { partsOfTurn } from './turn-parts.ts';

/** Row n of the samples is at `times[n]`. */
const samplesAt = (...times: number[]) => ({
  rows: times.map((_, row) => row),
  timeOf: (row: number) => times[row]!,
});

function spansOf(...spans: readonly (readonly [from: number, to: number, isReady?: boolean])[]): OffCpuSpans {
  const all = new OffCpuSpans();
  spans.forEach(([from, to, isReady = false], index) => {
    all.out(from, isReady);
    all.in(to, true);
    all.setSample(index, 100 + index);
  });
  return all;
}

const short = (parts: ReturnType<typeof partsOfTurn>) =>
  parts.map(({ startNs, endNs, state, row }) => [startNs, endNs, state, row]);

test('times off the CPU come from the spans, times on it go to the nearest sample', () => {
  const parts = partsOfTurn(
    10,
    100,
    samplesAt(5, 20, 30, 90, 200),
    spansOf([0, 12], [40, 80], [95, 300, true]),
  );
  assert.deepEqual(short(parts), [
    [10, 12, 'waiting', 100],
    [12, 25, 'cpu', 1],
    [25, 40, 'cpu', 2],
    [40, 80, 'waiting', 101],
    [80, 95, 'cpu', 3],
    [95, 100, 'ready', 102],
  ]);
});

test('without samples and spans a turn is one part of which nothing is known', () => {
  assert.deepEqual(short(partsOfTurn(1, 9, samplesAt(), null)), [[1, 9, 'cpu', -1]]);
});

test('whatever there is, parts fill the turn without gaps', () => {
  let seed = 7;
  const random = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
  for (let round = 0; round < 300; round++) {
    const times = Array.from({ length: random(20) }, () => random(1000)).sort((a, b) => a - b);
    const edges = Array.from({ length: 2 * random(10) }, () => random(1000)).sort((a, b) => a - b);
    const spans = new OffCpuSpans();
    for (let at = 0; at < edges.length; at += 2) {
      spans.out(edges[at]!, random(2) === 1);
      spans.in(edges[at + 1]!, true);
    }
    const start = random(500);
    const end = start + 1 + random(500);
    const parts = partsOfTurn(start, end, samplesAt(...times), spans);
    assert.equal(parts[0]!.startNs, start);
    assert.equal(parts.at(-1)!.endNs, end);
    parts.forEach(({ startNs, endNs }, index) => {
      assert.ok(endNs >= startNs);
      if (index > 0) assert.equal(startNs, parts[index - 1]!.endNs);
    });
  }
});
