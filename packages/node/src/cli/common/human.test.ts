import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { countOf, percentText } from './human.ts';

test("shares are rounded as C's printf rounds them", () => {
  const values = [
    0,
    0.125,
    0.375,
    3.125,
    3.375,
    62.625,
    99.875,
    100,
    1 / 3,
    1.005,
    7.995,
    12.5,
    0.005,
    72 / 23.04,
  ];
  for (let part = 0; part <= 2304; part += 7) values.push((100 * part) / 2304);
  const { stdout, error } = spawnSync('printf', ['%.2f%%\n', ...values.map((value) => value.toFixed(60))], {
    encoding: 'utf8',
  });
  assert.equal(error, undefined);
  // All digits, because printf reads long doubles.
  assert.deepEqual(values.map(percentText), stdout.trimEnd().split('\n'));
});

test('one is one', () => {
  assert.deepEqual(
    [0, 1, 1n, 2, 12345n].map((count) => countOf(count, 'swap')),
    ['0 swaps', '1 swap', '1 swap', '2 swaps', '12,345 swaps'],
  );
});
