import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError, memorySource } from '../../base/index.ts';
import { makeAttr } from '../../format/records/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import { mutate } from '../../test/mutate.ts';
import { openPerfData, writePerfData } from '../perfdata/index.ts';
import { readCounts, roundOfCounts, startOfCounts } from './index.ts';

const STAT_BYTES = 48;
const ids = [1n, 2n, 3n];
const attrs = ids.map((id) => ({
  attr: makeAttr({ type: 1, config: id, sampleType: 1n << 16n }),
  ids: [id],
  name: `event ${id}`,
}));
const start = startOfCounts({
  events: ids.map((id) => ({ id, unit: 'msec', scale: 0.5 })),
  threads: [{ tid: -1, name: '' }],
  cpus: [0, 1],
  ...({ by: 'cpu', intervalMs: 10, isScaled: true } as const),
});
const rounds = [1n, 2n, 3n].flatMap((timeNs) =>
  roundOfCounts(
    ids.map((id) => ({ id, cpu: 0, thread: 0, value: timeNs, enabledNs: timeNs, runningNs: timeNs })),
    { isFinal: timeNs === 3n, timeNs },
  ),
);
const FILES = (['file', 'pipe'] as const).map((mode) =>
  writePerfData({ attrs, records: [...start, ...rounds], mode, features: { stat: true } }),
);

test('damaged recordings of counts: nothing is thrown but what says so, and no more comes out than bytes went in', async () => {
  let input: Uint8Array = new Uint8Array();
  let read = 0;
  const cases = await fuzz(
    'counts',
    async (random) => {
      const bytes = mutate(random.pick(FILES), random);
      input = bytes;
      try {
        const reader = await openPerfData(memorySource(bytes));
        const counts = await readCounts(reader);
        const found = counts?.rounds.reduce((sum, round) => sum + round.counts.length, 0) ?? 0;
        assert.ok(found <= bytes.length / STAT_BYTES);
        for (const { event, thread } of counts?.rounds.flatMap((round) => round.counts) ?? []) {
          assert.ok(event < counts!.events.length && thread < counts!.threads.length);
        }
        if (found > 0) read++;
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
      }
    },
    () => input,
  );
  assert.ok(cases === null || read > cases / 8, `${read} of ${cases} had counts`);
});
