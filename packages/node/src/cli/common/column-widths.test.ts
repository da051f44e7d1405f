import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnWidths } from './column-widths.ts';

const TITLES = ['Overhead', 'Symbol', 'Tier'];
const LONG = 'x'.repeat(900);

test('columns are as wide as their widest cell', () => {
  assert.deepEqual(columnWidths(TITLES, [['1.00%', 'fib', 'Maglev']], 0), [8, 6, 6]);
});

test('one long name does not widen the rows of the others', () => {
  const rows = [
    ['1.00%', 'fib', 'Maglev'],
    ['1.00%', LONG, '-'],
  ];
  assert.deepEqual(columnWidths(TITLES, rows, 0), [8, 100, 6]);
  // On a terminal the rows of the others fit on one line.
  const widths = columnWidths(TITLES, rows, 80);
  assert.deepEqual(widths, [8, 60, 6]);
  assert.equal(2 + widths.reduce((sum, width) => sum + width, 2 * 2), 80);
  assert.deepEqual(columnWidths(TITLES, rows, 30), [8, 24, 6]);
});
