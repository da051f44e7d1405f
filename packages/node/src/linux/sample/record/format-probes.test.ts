/** Sampling formats on probes: each hit is counted or told as lost, whoever interrupts whom. */
import assert from 'node:assert/strict';
import { cpus } from 'node:os';
import { afterEach, describe, test } from 'node:test';
import { noFormats, recordSamples } from '../../../test/format-recording.ts';
import { C_LIBRARY, definedProbes, probesAreMissing } from '../../../test/probe-programs.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { LiveProfile } from './live/live-profile.ts';

const kill = `uprobe:${C_LIBRARY}:kill`;
const CALLS = 2000;
/** Two workers, two children at once and the program itself: 5 times as many calls. */
const SCRIPT = `
  const { Worker } = require('node:worker_threads');
  const { spawn } = require('node:child_process');
  const calls = 'for (let i = 0; i < ${CALLS}; i++) process.kill(process.pid, 0);';
  for (let i = 0; i < 2; i++) new Worker(calls, { eval: true });
  for (let i = 0; i < 2; i++) spawn(process.execPath, ['-e', calls], { stdio: 'ignore' });
  eval(calls);`;
const ALL = 5 * CALLS;
const command = [process.execPath, '-e', SCRIPT];

const sum = (samples: readonly { period?: bigint | undefined }[]) =>
  samples.reduce((total, { period = 0n }) => total + Number(period), 0);

const skip = noFormats || probesAreMissing();

describe('formats on probes', { skip }, () => {
  afterEach(() => {
    assert.deepEqual(liveHandles(), []);
    assert.deepEqual(
      definedProbes().filter((line) => line.includes(`counterpoint_${process.pid}_`)),
      [],
    );
  });

  for (const format of ['histogram', 'stacks', 'double-buffer', 'on-miss']) {
    test(`${format}: threads and children, every hit`, async () => {
      const { events, result } = await recordSamples({ command, events: kill, formats: [format] });
      assert.equal(result.exitCode, 0);
      const lost = result.loss.reduce((total, { count }) => total + Number(count), 0);
      assert.equal(sum(events.flatMap(({ samples }) => samples)) + lost, ALL, JSON.stringify(result.loss));
      assert.ok(lost < ALL / 10, `${lost} lost`);
      const addresses = new Set(events.flatMap(({ samples }) => samples.map(({ ip }) => ip)));
      assert.ok(!addresses.has(undefined) && !addresses.has(0n));
    });
  }

  test('a clock’s handler beside it comes in between, and that is no hit twice nor silently none', async () => {
    const { events, result } = await recordSamples({
      command,
      events: `cpu-clock,${kill}`,
      frequency: 10_000,
      formats: ['histogram'],
    });
    const ofProbe = result.loss.filter(({ event }) => event === kill);
    const lost = ofProbe.reduce((total, { count }) => total + Number(count), 0);
    assert.ok(
      ofProbe.every(({ kind }) => kind === 'format-recursion'),
      JSON.stringify(ofProbe),
    );
    assert.equal(sum(events.find(({ name }) => name === kill)!.samples) + lost, ALL);
  });

  test('a period: so many hits of a CPU are one overflow', async () => {
    const { events } = await recordSamples({ command, events: kill, period: 100, formats: ['histogram'] });
    const counted = sum(events.flatMap(({ samples }) => samples));
    assert.equal(counted % 100, 0);
    // What is left of each CPU is less than a period.
    assert.ok(counted <= ALL && counted >= ALL - 99 * cpus().length, String(counted));
  });

  test('a live profile (top) has them, and says the period', async () => {
    await using live = await LiveProfile.open({ command, events: kill, intervalMs: 200, keepShare: 1 });
    assert.equal(live.events[0]!.period, 1n);
    let seen = 0;
    for await (const { samples, lost } of live) seen += samples + Number(lost);
    assert.equal(seen, ALL);
  });
});
