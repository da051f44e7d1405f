import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { perfIsMissing } from '../../../test/perf.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { type Fd, realSys, type Sys, SysError } from '../../kernel/sys/index.ts';
import { CLOCK_MONOTONIC, CommandEnd } from './command-end.ts';

const never = new Promise<never>(() => {});

describe('the end of a young command', () => {
  test('is seen while this thread waits, before its event loop tells', async () => {
    const child = spawn('sleep', ['0.03'], { stdio: 'ignore' });
    using end = new CommandEnd(realSys, child.pid!);
    let toldByLoop = false;
    const exit = once(child, 'exit').then(() => {
      toldByLoop = true;
    });
    await end.whileYoung(never);
    assert.equal(toldByLoop, false);
    assert.ok(end.endNs !== null && end.endNs <= realSys.clockNs(CLOCK_MONOTONIC));
    await exit;
  });

  test('is not waited for longer, nor once something else has ended the run', async () => {
    const child = spawn('sleep', ['5'], { stdio: 'ignore' });
    let waits = 0;
    const sys: Sys = Object.create(realSys, {
      waitReadable: {
        value: (fd: Fd, timeoutMs: number) => {
          if (timeoutMs > 0) waits++;
          return realSys.waitReadable(fd, timeoutMs);
        },
      },
    });
    using end = new CommandEnd(sys, child.pid!);
    await end.whileYoung(Promise.resolve());
    assert.equal(waits, 1);
    const before = performance.now();
    await end.whileYoung(never);
    assert.equal(waits, 11);
    assert.ok(performance.now() - before > 90);
    assert.equal(end.endNs, null);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  test('is left to the event loop where the kernel gives no descriptor of a process', async () => {
    const sys = new FakeSys();
    sys.pidfdOpen = () => {
      throw new SysError('pidfd_open', 38, {});
    };
    using end = new CommandEnd(sys, 1);
    await end.whileYoung(never);
    assert.equal(end.endNs, null);
  });
});

/**
 * perf starts its clock after it has let the command go: on a busy machine that is over already (0.003 ms).
 */
const LEAST_EXEC_MS = 0.2;

test("the time of a command that does nothing is no longer than perf's by a start of ours", {
  skip: perfIsMissing(),
}, async () => {
  const elapsedMs = (program: string, words: readonly string[]) => {
    const { stderr } = spawnSync(program, [...words, 'stat', '-n', 'true'], { encoding: 'utf8' });
    return 1000 * Number(/([\d.]+) seconds time elapsed/.exec(stderr)![1]);
  };
  const startMs = () => {
    const before = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    return performance.now() - before;
  };
  // Anything else that runs makes it longer: the least of some is what counts.
  let [ours, theirs, start] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  await onTime(() => {
    for (let pair = 0; pair < 3; pair++) {
      ours = Math.min(ours, elapsedMs(process.execPath, commandLineProcess()));
      const measured = elapsedMs('perf', []);
      if (measured > LEAST_EXEC_MS) theirs = Math.min(theirs, measured);
      start = Math.min(start, startMs());
    }
    // What Node needs to start, ours or a worker's, would be all of it; how much longer it is, `bench` says.
    assertOnTime(ours < theirs + start / 4, `${ours} ms, perf's ${theirs}, a start of Node ${start}`);
  });
});
