import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStats, type StatsAnswer } from '../../../answers/index.ts';
import { memorySource } from '../../../base/index.ts';
import { corpusFiles } from '../../../test/corpus.ts';
import { fixtureRecordings } from '../../../test/fixture-recordings.ts';
import { pipeTwin } from '../../../test/pipe-twin.ts';
import { ATTR } from '../../../test/recordings.ts';
import { writePerfData } from '../writer/index.ts';
import { openPerfData } from './index.ts';

/** In pieces of odd sizes, so that records, and what belongs to them, lie across their borders. */
async function* inPieces(bytes: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 9973)
    yield bytes.slice(at, at + size);
}

/**
 * What both forms say alike: this pipe has no features. Names of events come from them, and the kernel's
 * release, by which the number of chains is known that it cut.
 */
function alike({ samples, sumPeriod, threads, firstTimeNs, lastTimeNs, events, records, loss }: StatsAnswer) {
  const { ATTR: _, TRACING_DATA: __, ...rest } = records;
  return {
    ...{ samples, sumPeriod, threads, firstTimeNs, lastTimeNs, records: rest },
    loss: loss
      .filter(({ kind }) => kind !== 'file-truncated')
      .map(({ kind, count }) => (kind === 'call-chain-cut' ? [kind] : [kind, count])),
    events: events.map(({ samples: own, sumPeriod: sum, lost }) => [own, sum, lost]),
  };
}

for (const { name, bytes } of [...fixtureRecordings(), ...corpusFiles('perfdata')]) {
  test(`${name} is the same as a file, as a file of a pipe, and as a pipe`, async (t) => {
    const twin = await pipeTwin(bytes);
    const asFile = alike(await collectStats(await openPerfData(memorySource(bytes))));
    const forms = twin === null ? [inPieces(bytes)] : [memorySource(twin), inPieces(twin)];
    for (const form of forms) assert.deepEqual(alike(await collectStats(await openPerfData(form))), asFile);
    t.diagnostic(`${asFile.samples} samples`);
  });
}

test('zeros between an attr and its ids are no ids: perf writes an older attr as long as its own', async () => {
  const bytes = writePerfData({
    attrs: [{ attr: ATTR, ids: [0n, 0n, 5n], name: 'cpu-clock' }],
    records: [],
    mode: 'pipe',
  });
  const reader = await openPerfData(memorySource(bytes));
  await collectStats(reader);
  assert.deepEqual(reader.events.events[0]!.ids, [5]);
  assert.equal(reader.events.findId(0), null);
});
