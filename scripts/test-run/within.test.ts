import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedFiles, type TestRun } from './run.ts';
import { leftOut, partsOf, runWithin } from './within.ts';

const files = Array.from({ length: 60 }, (_, at) => `${at}.test.ts`);
const table = new Map(files.map((path) => [path, 1]));

/** A machine that takes so many times as long as the table says, with two files at a time. */
function machine(slowness: number) {
  const load = { loadAverage: 1, cpuPressurePercent: 0 };
  return async (part: string[]): Promise<TestRun> => ({
    files: part.map((path) => ({
      path,
      passed: 1,
      failures: path === '3.test.ts' ? [{ name: 'a', message: 'b' }] : [],
      skipped: [],
      end: 'ended',
      seconds: slowness,
      cpuSeconds: null,
      output: '',
      load,
    })),
    retries: [],
    elapsedSeconds: (part.length / 2) * slowness,
  });
}

test('parts have all files in their order, short ones first, then each about as long', () => {
  const parts = partsOf(files, table, 7);
  assert.deepEqual(parts.flat(), files);
  assert.deepEqual(
    parts.slice(0, -1).map(({ length }) => length),
    [1, 2, 4, 7, 7, 7, 7, 7, 7, 7],
  );
  assert.deepEqual(partsOf([], table), []);
  // One that is longer than a part is a part.
  assert.deepEqual(partsOf(['a', 'b'], new Map([['a', 50]])), [['a'], ['b']]);
});

test('a machine as fast as the table says runs all, and what each part found is added up', async () => {
  const result = await runWithin(files, table, machine(1));
  assert.deepEqual([result.left, result.files.length, failedFiles(result).length], [[], 60, 1]);
  assert.equal(result.elapsedSeconds, 30);
  assert.equal(leftOut(result), '');
});

test('a slower one runs what ends within the time, and says what it left out', async () => {
  for (const slowness of [2.5, 4, 9, 18]) {
    const result = await runWithin(files, table, machine(slowness));
    assert.ok(result.elapsedSeconds <= 56, `${slowness}: ${result.elapsedSeconds} s`);
    assert.ok(result.elapsedSeconds > 56 - 6 * slowness, `${slowness}: ${result.elapsedSeconds} s`);
    assert.equal(result.left.length + result.files.length, files.length);
    assert.match(
      leftOut(result),
      new RegExp(`^\n${result.left.length} files .* ${slowness.toFixed(1)} times`),
    );
  }
});

test('what the start of a run took is taken from its minute', async () => {
  const result = await runWithin(files, table, machine(1), 40);
  assert.ok(result.elapsedSeconds <= 16 && result.left.length > 0, `${result.elapsedSeconds} s`);
});
