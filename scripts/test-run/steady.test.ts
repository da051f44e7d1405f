import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { FileRun } from './one-file.ts';
import { runSteady, steadyText } from './steady.ts';

const fileRun = (path: string, isGreen = true): FileRun => ({
  path,
  passed: 1,
  failures: isGreen ? [] : [{ name: 'a test', message: 'too late\nby 5 ms' }],
  skipped: [],
  end: 'ended',
  seconds: 10,
  cpuSeconds: null,
  output: '',
  load: { loadAverage: 1, cpuPressurePercent: 1 },
});

/** A clock that goes on by ten seconds with each run. */
function runner(failsAt: (path: string, run: number) => boolean) {
  const order: string[] = [];
  const run = async (path: string) => {
    order.push(path);
    return fileRun(path, !failsAt(path, order.filter((one) => one === path).length));
  };
  return { order, run, now: () => order.length * 10_000 };
}

test('each file as often as it is wanted; one that failed is not run again', async () => {
  const { order, run, now } = runner((path, count) => path === 'b' && count === 2);
  const found = await runSteady(['a', 'b'], run, { times: 3, limitSeconds: 1000, now });
  assert.deepEqual(order, ['a', 'b', 'a', 'b', 'a']);
  assert.equal(
    steadyText(found, 3),
    `
3 times: a
failed in run 2: b
    a test
      too late
1 files are steady, 1 are not, 0 were not run often enough.`,
  );
});

test('when the time is over it says what was not reached', async () => {
  const { order, run, now } = runner(() => false);
  const found = await runSteady(['a', 'b'], run, { times: 3, limitSeconds: 35, now });
  assert.deepEqual(order, ['a', 'b', 'a']);
  assert.match(steadyText(found, 3), /2 of 3 times, then the time was over: a\n1 of 3 times.*: b\n0 files/);
});

test('the command: help, what is not there', () => {
  const script = fileURLToPath(new URL('../test-steady.ts', import.meta.url));
  const command = (...words: string[]) =>
    spawnSync(process.execPath, ['--import', import.meta.resolve('tsx'), script, ...words], {
      encoding: 'utf8',
    });
  const help = command('--help');
  assert.equal(help.status, 0);
  assert.match(help.stdout, /npm run test:steady -- packages/);
  const wrong = command('no/such.test.ts');
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /There is no test file no\/such\.test\.ts/);
});
