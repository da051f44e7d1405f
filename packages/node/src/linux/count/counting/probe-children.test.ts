import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../../test/perf.ts';
import { C_LIBRARY, definedProbes, PROBE_PROGRAMS, probesAreMissing } from '../../../test/probe-programs.ts';
import { launchHeld } from '../../kernel/target/index.ts';
import { openCounting } from './index.ts';

/** Probes on programs that fork and make threads: the programs go on as ever, and no call is missed. */

const skip = probesAreMissing();

async function countRun(
  command: readonly string[],
  events: string,
): Promise<{ code: number; values: number[] }> {
  using held = launchHeld(command, { stdio: ['ignore', 'ignore', 'ignore'] });
  using session = openCounting({ target: { kind: 'command', pid: held.pid }, events });
  session.start();
  held.release();
  const { code } = await held.exited;
  const [set] = session.read().sets;
  return { code, values: set!.events.map(({ value }) => Number(value)) };
}

describe('probes and children', { skip }, () => {
  for (const program of PROBE_PROGRAMS) {
    test(`a ${program.language} program with threads and children is counted exactly, each time`, async (t) => {
      const built = program.build(temporaryFolder(t));
      if ('skip' in built) return t.skip(built.skip);
      const { path } = built;
      // A return probe would break a Go program.
      const events =
        program.language === 'Go'
          ? `uprobe:${path}:${program.hit}`
          : `{uprobe:${path}:hit,uretprobe:${path}:hit}`;
      // Without a kept context most runs of C miss some on two CPUs.
      for (let run = 0; run < 8; run++) {
        const { code, values } = await countRun([path, '8'], events);
        assert.equal(code, 0);
        for (const value of values) assert.equal(value, 24_007);
      }
    });
  }

  test('a shell that forks says the same, and the definitions go with the session', async () => {
    const script = 'test "$(ls / | wc -l)" -gt 0 && exec /bin/true';
    const { code, values } = await countRun(
      ['/bin/sh', '-c', script],
      `uprobe:${C_LIBRARY}:malloc,uprobe:${C_LIBRARY}:free`,
    );
    assert.equal(code, 0);
    for (const value of values) assert.ok(value > 0);
    assert.deepEqual(
      definedProbes().filter((line) => line.includes(`counterpoint_${process.pid}_`)),
      [],
    );
  });

  test('workers and children of Node are counted exactly, by several sessions at once', async () => {
    const calls = 'for (let i = 0; i < 50; i++) process.kill(process.pid, 0);';
    const script = `
      const { Worker } = require('node:worker_threads');
      const { execFileSync } = require('node:child_process');
      const calls = ${JSON.stringify(calls)};
      for (let i = 0; i < 2; i++) new Worker(calls, { eval: true }).on('error', () => process.exit(9));
      for (let i = 0; i < 2; i++) execFileSync(process.execPath, ['-e', calls]);
      eval(calls);`;
    const event = `uprobe:${C_LIBRARY}:kill`;
    const runs = [0, 1, 2].map(() => countRun([process.execPath, '-e', script], `${event},${event}`));
    for (const { code, values } of await Promise.all(runs)) {
      assert.equal(code, 0);
      assert.deepEqual(values, [250, 250]);
    }
  });

  test('a process that watches itself may still start others', () => {
    using session = openCounting({
      target: { kind: 'processes', pids: [process.pid] },
      events: `uprobe:${C_LIBRARY}:kill`,
    });
    session.start();
    process.kill(process.pid, 0);
    const script = 'process.kill(process.pid, 0); process.kill(process.pid, 0)';
    execFileSync(process.execPath, ['-e', script]);
    session.stop();
    assert.equal(Number(session.read().sets[0]!.events[0]!.value), 3);
  });
});
