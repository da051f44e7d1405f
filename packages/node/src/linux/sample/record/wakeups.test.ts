/**
 * When the kernel wakes the recorder: by a number of samples, by a number of bytes, or by half of a buffer.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { type RecordOptions, record } from './index.ts';

const CALLS = 30;
/** Far apart: a sample that comes while the recorder is awake wakes nobody. */
const PAUSE = 0.02;
const SCRIPT = `i=0; while [ $i -lt ${CALLS} ]; do i=$((i+1)); sleep ${PAUSE}; done`;

test('the attr says so', async () => {
  const attrOf = async (...words: string[]) => {
    const { out } = await counterpoint('record', '--plan', '--json', '-e', 'cpu-clock:u', ...words, 'true');
    return JSON.parse(out).opens[0].attr;
  };
  const usual = await attrOf();
  assert.deepEqual([usual.watermark ?? 0, usual.wakeup_events ?? 0], [0, 0]);
  const each = await attrOf('--no-buffering');
  assert.deepEqual([each.watermark ?? 0, each.wakeup_events], [0, 1]);
});

test('after each sample, after some, or seldom: samples and wake-ups', async (t) => {
  const output = join(temporaryFolder(t), 'perf.data');
  const run = async (options: RecordOptions) => {
    const { samples, wakeups, loss } = await record({
      command: ['sh', '-c', SCRIPT],
      events: 'context-switches:u,faults:u',
      period: 1,
      buildIds: false,
      output,
      ...options,
    });
    assert.deepEqual(loss, []);
    assert.ok(samples > CALLS, `${samples}`);
    return wakeups;
  };
  await onTime(async () => {
    const wakeups = {
      each: await run({ wakeupEvents: 1 }),
      some: await run({ wakeupEvents: 200 }),
      bytes: await run({ wakeupBytes: 64 }),
      usual: await run({}),
    };
    const text = JSON.stringify(wakeups);
    assertOnTime(wakeups.each >= CALLS, text);
    assertOnTime(wakeups.bytes >= CALLS, text);
    assertOnTime(2 * wakeups.some < wakeups.each, text);
    assertOnTime(2 * wakeups.usual < wakeups.each, text);
  });
});

test('two rules, and a rule for what has no records, are refused', async () => {
  const command = ['true'];
  for (const options of [
    { wakeupEvents: 1, wakeupBytes: 1 },
    { wakeupEvents: 1, formats: ['histogram'] },
  ])
    await assert.rejects(record({ command, events: 'cpu-clock:u', ...options }), { code: 'ERR_WAKEUP' });
  await assert.rejects(record({ command, wakeupEvents: 0 }), /wakeupEvents/);
});
