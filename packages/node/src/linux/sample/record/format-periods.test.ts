/**
 * `-c N` with formats: so many hits are one overflow, also where the kernel by
 * itself would take each for one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordSamples, noFormats as skip } from '../../../test/format-recording.ts';
import { RARE_TRACEPOINT } from '../../../test/format-runs.ts';
import type { RecordOptions } from './options.ts';

async function recorded(options: RecordOptions) {
  const { result, events } = await recordSamples(options);
  const samples = events.find(({ samples: some }) => some.length > 0)?.samples ?? [];
  const periods = samples.reduce((sum, { period = 0n }) => sum + period, 0n);
  return { overflows: Number(result.formats[0]!.overflows), samples, periods: Number(periods) };
}

test('page faults: the handler runs at each seventh', { skip }, async () => {
  const touch = (format: string, period: number) =>
    recorded({
      command: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1M', 'count=1', 'status=none'],
      events: 'page-faults',
      period,
      formats: [format],
    });
  const { overflows: faults } = await touch('histogram', 1);
  assert.ok(faults > 200, `${faults} faults`);
  for (const format of ['histogram', 'stacks', 'double-buffer', 'on-miss']) {
    const { overflows, periods } = await touch(format, 7);
    assert.ok(Math.abs(overflows - faults / 7) < 8, `${format}: ${overflows} overflows of ${faults} faults`);
    assert.equal(periods, 7 * overflows, format);
  }
});

test('a tracepoint: its place in the kernel, and each fourth hit', { skip }, async () => {
  const hit = (format: string, period: number) =>
    recorded({
      // On one CPU, since each counts for itself.
      command: ['taskset', '-c', '0', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10; do nice; done'],
      launch: { stdio: ['ignore', 'ignore', 'inherit'] },
      events: RARE_TRACEPOINT,
      period,
      formats: [format],
    });
  for (const format of ['histogram', 'double-buffer', 'on-miss']) {
    const each = await hit(format, 1);
    assert.ok(each.overflows >= 10, `${format}: ${each.overflows} hits`);
    assert.equal(each.periods, each.overflows);
    for (const { ip = 0n } of each.samples) assert.ok(ip >= 1n << 63n, `${format}: ${ip.toString(16)}`);
    const fourth = await hit(format, 4);
    assert.equal(fourth.overflows, Math.floor(each.overflows / 4), format);
    assert.equal(fourth.periods, 4 * fourth.overflows, format);
  }
});

test('a format that keeps records of the kernel is refused where those would be of the wrong period', {
  skip,
}, async () => {
  const attempt = (period: number) =>
    recorded({ command: ['true'], events: 'page-faults', period, formats: ['stacks,keep=3'] });
  await assert.rejects(attempt(7), {
    code: 'ERR_FORMAT_EVENT',
    message: /^the format stacks keeps records of the kernel, which would not say their period of 7/,
  });
  assert.ok((await attempt(1)).samples.length > 1);
});
