/**
 * Whatever the machine is busy with: times off the CPU lie between clocks that are read around the recording.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { untilAsleep } from '../../../test/asleep.ts';
import { runOwn } from '../../../test/format-runs.ts';
import { noTracepoints } from '../../../test/rights.ts';
import type { OffCpuSummary, OffCpuTime } from './built-in/off-cpu.ts';
import { findFormat } from './index.ts';

const skip = noTracepoints;

function child(t: TestContext, command: string, ...args: string[]): ChildProcess {
  const started = spawn(command, args);
  t.after(() => started.kill('SIGKILL'));
  return started;
}

/**
 * Nanoseconds off the CPU of one thread, attached to for long before, recorded during `work`,
 * attached to still when it is over.
 */
async function offCpu(task: number, work: () => Promise<unknown>) {
  using own = runOwn(await findFormat('off-cpu'), 'dummy', { task });
  const { run } = own;
  let ns = 0n;
  const collected = (async () => {
    for await (const result of run.results()) {
      const one = result as OffCpuTime | OffCpuSummary;
      if (one.kind === 'time') ns += one.durationNs;
    }
  })();
  await delay(300);
  const before = process.hrtime.bigint();
  run.begin();
  const begun = process.hrtime.bigint();
  await work();
  const ending = process.hrtime.bigint();
  run.end();
  const ended = process.hrtime.bigint();
  await delay(300);
  run.stop();
  await collected;
  return { ns, begun, least: ending - begun, most: ended - before };
}

test('who sleeps all the time is off the CPU from enabling to stopping', { skip }, async (t) => {
  const sleeper = child(t, 'sleep', '100');
  await untilAsleep(sleeper.pid!);
  const { ns, least, most } = await offCpu(sleeper.pid!, () => delay(100));
  assert.ok(least <= ns && ns <= most, `${least} <= ${ns} <= ${most}`);
});

test('who sleeps over the moment of enabling counts from there', { skip }, async (t) => {
  const sleeper = child(t, 'sleep', '100');
  await untilAsleep(sleeper.pid!);
  let killed = 0n;
  const { ns, begun, most } = await offCpu(sleeper.pid!, async () => {
    await delay(100);
    killed = process.hrtime.bigint();
    sleeper.kill();
    await once(sleeper, 'exit');
  });
  assert.ok(killed - begun <= ns && ns <= most, `${killed - begun} <= ${ns} <= ${most}`);
});

test('what ended before enabling, and what begins after stopping, does not count', { skip }, async (t) => {
  const restless = child(t, 'sh', '-c', 'while sleep 0.02; do :; done');
  await delay(100);
  const { ns, most } = await offCpu(restless.pid!, () => delay(100));
  assert.ok(ns > 0n && ns <= most, `${ns} <= ${most}`);
});
