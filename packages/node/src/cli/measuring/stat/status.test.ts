import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perfIsMissing } from '../../../test/perf.ts';
import { noWholeCpus } from '../../../test/rights.ts';
import { hasEvents, until, waiting } from '../../../test/until-told.ts';

const NO_TASK = '999999999';
const UNTIL_TOLD = 'trap "exit 3" TERM; while :; do sleep 0.01; done';

function perfStatus(words: readonly string[]): number | null {
  return spawnSync('perf', ['stat', ...words], { stdio: 'ignore', timeout: 20_000 }).status;
}

/** perf loses the status of a command that ends before perf waits for it: its scripts end only then. */
const UNTIL_PERF_WAITS =
  'n=0; until grep -qs wait /proc/$PPID/wchan || [ $n = 500 ]; do sleep 0.01; n=$((n+1)); done;';

function assertPerfStatus(words: readonly string[], wanted: number): void {
  const late = words.map((word) => (/^(exit|kill) /.test(word) ? `${UNTIL_PERF_WAITS} ${word}` : word));
  assert.equal(perfStatus(late), wanted);
}

/** Command line, our status, and perf's where it is another one. */
const TABLE: readonly (readonly [words: string[], ours: number, theirs?: number])[] = [
  [['sh', '-c', 'exit 7'], 7],
  [['-r', '3', 'sh', '-c', 'exit 4'], 4],
  [['-a', '-e', 'cpu-clock', 'sh', '-c', 'exit 6'], 6],
  [['-e', 'cycles', 'true'], 0],
  [['--timeout', '60', 'sleep', '5'], 0],
  [['-I', '20', '--interval-count', '1', '-e', 'faults', 'sh', '-c', 'sleep 0.1; exit 5'], 5],
  [['-D', '10', 'sh', '-c', 'sleep 0.1; exit 4'], 4],
  [['-e', 'no-such-event', 'true'], 129],
  [['-e', 'no_such_pmu/x=1/', 'true'], 129],
  [['-e', 'sched:*no_such*', 'true'], 129],
  [['-I', '-5', 'true'], 129],
  [['-I', 'x', 'true'], 129],
  [['--timeout', '-5', 'true'], 129],
  [['-r', 'x', 'true'], 129],
  [['--no-such-option', 'true'], 129],
  // perf forgets the command's status where it does something at intervals or has a time limit.
  [['-I', '50', '-e', 'faults', 'sh', '-c', 'sleep 0.1; exit 4'], 4, 0],
  // perf sleeps the whole time where its command ends before it lies down.
  [['--timeout', '10000', 'sh', '-c', 'exit 4'], 4, 0],
  // The shell's statuses.
  [['sh', '-c', 'kill -9 $$'], 137, 0],
  [['no-such-command'], 127, 255],
  [['/etc/passwd'], 126, 255],
  [['/'], 126, 255],
  // -EINVAL and -1, as the shell sees them.
  [['-r', '-1', 'true'], 129, 234],
  [['--timeout', '5', 'true'], 129, 234],
  [['--interval-count', '2', 'true'], 129, 234],
  [['-A', 'true'], 129, 234],
  [['--per-thread', 'true'], 129, 234],
  [['-p', 'abc'], 129, 234],
  [['-p', NO_TASK], 1, 234],
  [['-t', NO_TASK], 1, 255],
  // perf says so and goes on with something else, or with nothing.
  [['-M', 'no-such-metric', 'true'], 129, 0],
  [['-e', '{faults,task-clock', 'true'], 129, 0],
  [['-e', 'cpu-clock', '-C', '9999', 'true'], 1, 0],
];

describe('exit status', () => {
  const missing = perfIsMissing();
  for (const [words, ours, theirs = ours] of TABLE) {
    const name = `stat ${words.join(' ')}: ${ours}${theirs === ours ? ', as perf' : `, and perf's ${theirs}`}`;
    test(name, { skip: words.includes('-a') && noWholeCpus }, async () => {
      const { status, err } = await counterpoint('stat', ...words);
      assert.equal(status, ours, err);
      if (missing === false) assertPerfStatus(words, theirs);
    });
  }

  for (const kind of ['-p', '-t']) {
    test(`stat ${kind} of a task that ends meanwhile: 0, as perf, with what it counted`, async () => {
      const own = waiting();
      const counted = counterpoint('stat', '-e', 'faults', kind, `${own.pid}`);
      assert.ok(await until(() => hasEvents(process.pid)));
      own.end();
      const { status, err } = await counted;
      assert.equal(status, 0);
      assert.match(err, /\d +faults/);
      if (missing !== false) return;
      const theirs = waiting();
      const perf = spawn('perf', ['stat', '-e', 'faults', kind, `${theirs.pid}`], { stdio: 'ignore' });
      const exited = once(perf, 'exit');
      assert.ok(await until(() => hasEvents(perf.pid!)));
      theirs.end();
      assert.equal((await exited)[0], 0);
    });
  }

  test('stat --timeout MS: the status of a command that ends itself when it is told to, as perf', async () => {
    // The shell needs some time before it can be told.
    const statusWithin = async (statusOf: (ms: string) => Promise<number | null>) => {
      let status: number | null = null;
      for (let ms = 60; ms < 60_000 && status !== 3; ms *= 4) status = await statusOf(`${ms}`);
      return status;
    };
    const words = (ms: string) => ['--timeout', ms, 'sh', '-c', UNTIL_TOLD];
    assert.equal(await statusWithin(async (ms) => (await counterpoint('stat', ...words(ms))).status), 3);
    if (missing === false) assert.equal(await statusWithin(async (ms) => perfStatus(words(ms))), 3);
  });

  test('what ended a command is said, but not where it was us', async () => {
    const killed = await counterpoint('stat', '-n', 'sh', '-c', 'kill -9 $$');
    assert.match(killed.err, /the command was ended by SIGKILL/);
    const timeout = await counterpoint('stat', '-n', '--timeout', '30', 'sleep', '5');
    assert.doesNotMatch(timeout.err, /ended by/);
    const missingCommand = await counterpoint('stat', 'no-such-command');
    assert.match(missingCommand.err, /no-such-command: command not found/);
  });

  for (const [name, words] of [
    ['intervals of a command', ['-I', '50', '-e', 'faults', 'sleep', '5']],
    ['runs without end', ['-r', '0', '-e', 'faults', 'sleep', '0.02']],
    ['whole CPUs', ['-a', '-e', 'faults']],
  ] as const) {
    const title = `an interrupt ends ${name} with what was counted, and us by the same signal, as perf`;
    test(title, { skip: words[0] === '-a' && noWholeCpus }, async () => {
      const own = await interrupted(process.execPath, [...commandLineProcess(), 'stat', ...words]);
      assert.equal(own.signal, 'SIGINT');
      assert.match(own.err, /\d +faults/);
      if (missing === false) assert.equal((await interrupted('perf', ['stat', ...words])).signal, 'SIGINT');
    });
  }
});

/**
 * At the first count that it prints; of whole CPUs, which print at the end, a while after it has opened
 * events. A command that got no CPU yet has counted nothing.
 */
async function interrupted(program: string, words: readonly string[]) {
  const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.on('data', (piece: Buffer) => {
    err += piece;
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.on('close', (_, signal) => resolve(signal)),
  );
  if (words.includes('-a')) {
    await until(() => hasEvents(child.pid!));
    await setTimeout(300);
  } else await until(() => /\d +faults/.test(err));
  child.kill('SIGINT');
  return { signal: await ended, err };
}
