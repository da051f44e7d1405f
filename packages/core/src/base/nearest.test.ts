import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { didYouMean, editDistance, nearestNames } from './nearest.ts';

test('near misses come nearest first, and far ones not at all', () => {
  const names = ['cycles', 'cpu-cycles', 'instructions', 'cache-misses', 'cache-references'];
  assert.deepEqual(nearestNames('cycels', names), ['cycles']);
  assert.deepEqual(nearestNames('Instruction', names), ['instructions']);
  assert.deepEqual(nearestNames('cache', names), ['cache-misses', 'cache-references']);
  assert.deepEqual(nearestNames('xyzzy', names), []);
  assert.deepEqual(nearestNames('', names), []);
  assert.deepEqual(nearestNames('c'.repeat(100), names), []);
  assert.equal(didYouMean(['a', 'b', 'c']), '; did you mean a, b or c?');
  assert.equal(didYouMean([]), '');
});

/** By definition: every way to edit, without a limit. */
function slowDistance(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const ways = [
    slowDistance(a.slice(1), b) + 1,
    slowDistance(a, b.slice(1)) + 1,
    slowDistance(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1),
  ];
  if (a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0]) {
    ways.push(slowDistance(a.slice(2), b.slice(2)) + 1);
  }
  return Math.min(...ways);
}

test('edit distance equals the definition, up to the limit', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 });
  fc.assert(
    fc.property(word, word, fc.nat(6), (a, b, limit) => {
      assert.equal(editDistance(a, b, limit), Math.min(slowDistance(a, b), limit + 1));
    }),
    { numRuns: 300 },
  );
});
