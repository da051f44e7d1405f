/** Overflows that wait to be counted are not lost, and not late where somebody looks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noFormats as skip } from '../../../../test/format-recording.ts';
import { hitRareTracepoint, RARE_TRACEPOINT, runOwn } from '../../../../test/format-runs.ts';
import type { FormatSample } from '../format.ts';
import { findFormat } from '../registry.ts';

/** Fewer than a CPU's batch, and so many that some CPU's was counted. */
const HITS = [1, 5, 15, 16, 17, 100];

const sum = (samples: Iterable<FormatSample>) =>
  [...samples].reduce((total, { period }) => total + Number(period), 0);

test('what is pending at the end counts, each under its own key', { skip }, async () => {
  for (const hits of HITS) {
    using own = runOwn(await findFormat('histogram'), RARE_TRACEPOINT);
    own.sampled.enable();
    hitRareTracepoint(Array.from({ length: hits }, (_, number) => number));
    own.sampled.disable();
    own.run.stop();
    const samples: FormatSample[] = [];
    for await (const table of own.run.results()) samples.push(...own.run.samples(table));
    assert.equal(sum(samples), hits);
    assert.ok(samples.every(({ pid, ip }) => pid === process.pid && ip === samples[0]!.ip));
    const { overflows, losses } = own.run.finish();
    assert.deepEqual([overflows, losses], [[BigInt(hits)], []]);
  }
});

test('who wants the counts so far gets what is pending, too', { skip }, async () => {
  using own = runOwn(await findFormat('histogram'), RARE_TRACEPOINT, { options: { interval: 50 } });
  own.sampled.enable();
  const seen: number[] = [];
  const reading = (async () => {
    for await (const table of own.run.results()) seen.push(sum(own.run.samples(table)));
  })();
  let hits = 5;
  hitRareTracepoint([1, 2, 3, 4, 5]);
  // Each asks whether something is wanted; together they are fewer than a batch.
  for (; hits < 14 && seen.length === 0; hits++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    hitRareTracepoint([hits]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const early = seen.length;
  own.sampled.disable();
  own.run.stop();
  await reading;
  assert.ok(early > 0, `nothing after ${hits} hits`);
  assert.equal(
    seen.reduce((total, count) => total + count, 0),
    hits,
  );
});
