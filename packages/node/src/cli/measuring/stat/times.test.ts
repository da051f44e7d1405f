import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measurement } from '../../../linux/count/stat/index.ts';
import { timeLines } from './times.ts';

/** Only the time that a run took is looked at. */
function runs(...elapsedMs: number[]): Measurement[] {
  return elapsedMs.map((ms) => ({ elapsedNs: BigInt(ms * 1e6) }) as Measurement);
}

test('the words of a table of runs begin where its numbers do, whatever their digits', () => {
  for (const times of [
    [0.9, 5.2],
    [0.9471, 3.2502, 0.7111],
    [1500, 1500.001],
  ]) {
    const lines = timeLines(runs(...times), true, true).filter((line) => line !== '');
    const starts = lines.map((line) => line.search(/\S/));
    assert.deepEqual(
      starts,
      starts.map(() => starts[0]),
      lines.join('\n'),
    );
  }
});
