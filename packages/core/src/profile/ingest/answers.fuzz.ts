import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXPORTS } from '../../answers/export/index.ts';
import {
  callTree,
  collectStats,
  collectTasks,
  dumpRecords,
  type RecordKind,
  topFunctions,
  writeScript,
} from '../../answers/index.ts';
import { RECORD_KINDS } from '../../answers/record-text/kinds.ts';
import { CounterpointError, memorySource } from '../../base/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import { openPerfData } from '../../file-formats/perfdata/index.ts';
import { corpusFiles } from '../../test/corpus.ts';
import { fixtureRecordings } from '../../test/fixture-recordings.ts';
import { fuzz } from '../../test/fuzz.ts';
import { mutate } from '../../test/mutate.ts';
import type { Random } from '../../test/random.ts';
import { assertTableInvariants } from '../tables/index.ts';
import { ingestPerfData } from './index.ts';

// Everything that front ends ask of a damaged recording: statistics, profiles,
// reports, lines of text, every export.

const MAX_INPUT = 40_000;

const FILES = [
  ...fixtureRecordings().map(({ bytes }) => bytes),
  ...corpusFiles('perfdata').map(({ bytes }) => bytes.slice(0, MAX_INPUT)),
];

/** Every process has a map that names all of its memory, so that look-ups are on the way too. */
const driver: SymbolDriver = {
  open: async ({ need }) =>
    need === 'perf-map' ? memorySource(new TextEncoder().encode('0 7fffffffffff everything\n')) : null,
};

async function askEverything(bytes: Uint8Array<ArrayBuffer>, random: Random): Promise<void> {
  const open = () => openPerfData(memorySource(bytes));
  const stats = await collectStats(await open());
  JSON.stringify(stats);
  const aggregate = random.oneIn(2);
  const { profile } = await ingestPerfData(await open(), {
    symbols: driver,
    aggregate,
    keepCpu: random.oneIn(2),
  });
  assertTableInvariants(profile);
  assert.equal(
    profile.events.reduce((sum, event) => sum + event.samples, 0),
    stats.samples,
  );
  profile.events.forEach((_, event) => {
    const { rows } = topFunctions(profile, { event, children: random.oneIn(2) });
    assert.ok(rows.every(({ percent }) => percent >= 0 && percent <= 100.001));
    callTree(profile, { event, direction: random.pick(['callees', 'callers'] as const) });
  });
  const format = random.pick(EXPORTS);
  if (profile.events.length > 0)
    for await (const chunk of format.write(profile, {})) assert.ok(chunk.length >= 0);
  JSON.stringify(await collectTasks(await open()));
  await dumpRecords(await open(), {}, (text) => assert.ok(text.endsWith('\n')));
  let length = 0;
  await writeScript(
    await open(),
    {
      symbols: driver,
      records: Object.keys(RECORD_KINDS) as RecordKind[],
      json: random.oneIn(2),
      callChains: random.oneIn(2),
      nanoseconds: random.oneIn(2),
    },
    (utf8) => {
      length += utf8.length;
    },
  );
  if (stats.samples > 0) assert.ok(length > 0);
}

test('answers about damaged recordings', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array();
  const cases = await fuzz(
    'answers',
    async (random) => {
      input = mutate(random.pick(FILES), random);
      try {
        await askEverything(input, random);
      } catch (error) {
        if (!(error instanceof CounterpointError)) throw error;
      }
    },
    () => input,
  );
  assert.ok(cases === null || cases > 5, `only ${cases} cases`);
});
