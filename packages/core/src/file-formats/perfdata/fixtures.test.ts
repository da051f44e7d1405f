import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { collectStats } from '../../answers/index.ts';
import { memorySource } from '../../base/index.ts';
import { recordTypeName } from '../../format/abi/index.ts';
import { type FixtureRecording, fixtureRecordings } from '../../test/fixture-recordings.ts';
import { assertGolden } from '../../test/golden.ts';
import { noPerf, perf } from '../../test/perf.ts';
import { openPerfData } from './index.ts';

const FIXTURES = fileURLToPath(new URL('../../../../../fixtures/', import.meta.url));
const RECORDINGS = fixtureRecordings();

interface Figures {
  samples: number;
  sumPeriod: string;
  threads: number;
  firstTimeNs: string | null;
  lastTimeNs: string | null;
  events: { name: string; samples: number; sumPeriod: string }[];
  records: Record<string, number>;
  damage: { code: string; count: number; firstOffset: number }[];
}

function text(figures: Figures): string {
  return [
    `samples ${figures.samples}, sum of periods ${figures.sumPeriod}, threads ${figures.threads}`,
    `times ${figures.firstTimeNs} to ${figures.lastTimeNs}`,
    ...figures.events.map(
      (event) => `event ${event.name}: samples ${event.samples}, sum of periods ${event.sumPeriod}`,
    ),
    ...Object.entries(figures.records).map(([name, count]) => `record ${name}: ${count}`),
    ...figures.damage.map(
      ({ code, count, firstOffset }) => `damage ${code}: ${count}, first at ${firstOffset}`,
    ),
    '',
  ].join('\n');
}

/** The figures of what was put in, counted one by one. */
function figuresOf(recording: FixtureRecording): Figures {
  const samples = recording.records.flatMap((record) =>
    'sample' in record ? [{ record, ...record.sample }] : [],
  );
  const sum = (of: { period?: bigint }[]) =>
    of.reduce((total, { period }) => total + (period ?? 0n), 0n).toString();
  const times = samples.map(({ time }) => time!).sort((a, b) => Number(a - b));
  const counts = new Map(recording.metadata);
  for (const { type } of recording.records) counts.set(type, (counts.get(type) ?? 0) + 1);
  const byType = [...counts].sort(([a], [b]) => a - b);
  return {
    samples: samples.length,
    sumPeriod: sum(samples),
    threads: new Set(samples.map(({ tid }) => tid)).size,
    firstTimeNs: times[0]?.toString() ?? null,
    lastTimeNs: times[times.length - 1]?.toString() ?? null,
    events: recording.events.map(({ name, ids }) => {
      const own = samples.filter(({ identifier }) => ids.includes(identifier!));
      return { name, samples: own.length, sumPeriod: sum(own) };
    }),
    records: Object.fromEntries(byType.map(([type, count]) => [recordTypeName(type), count])),
    damage: recording.damage.map(([code, firstOffset]) => ({ code, count: 1, firstOffset })),
  };
}

for (const recording of RECORDINGS) {
  const path = `perfdata/${recording.name}.data`;

  test(`${path} is what its command makes`, () => {
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(FIXTURES + path, recording.bytes);
    assert.ok(recording.bytes.length < 8192);
    assert.deepEqual(new Uint8Array(readFileSync(FIXTURES + path)), recording.bytes);
  });

  test(`${path} has the figures of what was put in`, async () => {
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(FIXTURES + path))));
    const stats = await collectStats(reader);
    const expected = text(figuresOf(recording));
    assertGolden(`perfdata/${recording.name}.expected.txt`, expected);
    assert.equal(text(stats), expected);
    assert.equal(reader.isUnfinished, recording.name === 'killed');
  });

  // perf 6.1 stops in the others.
  if (!recording.perfReads) continue;
  test(`perf finds the same samples in ${path}`, { skip: noPerf }, () => {
    const lines = perf(['script', '-F', 'tid,time,event,period', '-G', '--ns', '-i', FIXTURES + path])
      .stdout.trim()
      .split('\n');
    const expected = recording.records
      .flatMap((record) => ('sample' in record ? [record.sample] : []))
      .sort((a, b) => Number(a.time! - b.time!))
      .map(({ tid, time, period, identifier }) => {
        const event = recording.events.find(({ ids }) => ids.includes(identifier!))!;
        const ns = time!.toString();
        return `${tid} ${ns.slice(0, -9)}.${ns.slice(-9)}: ${period} ${event.name}:`;
      });
    assert.deepEqual(
      lines.map((line) => line.trim().replace(/\s+/g, ' ')),
      expected,
    );
  });
}

test('every fixture is named in the README of its folder, and every recording has its figures', () => {
  const orphans: string[] = [];
  for (const folder of readdirSync(FIXTURES)) {
    const root = `${FIXTURES}${folder}/`;
    if (!statSync(root).isDirectory() || !existsSync(`${root}README.md`)) {
      orphans.push(folder);
      continue;
    }
    const readme = readFileSync(`${root}README.md`, 'utf8');
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      if (statSync(root + name).isDirectory() || name === 'README.md') continue;
      if (!readme.includes(`\`${name}\``)) orphans.push(`${folder}/${name}`);
    }
  }
  assert.deepEqual(orphans, []);
  const expected = RECORDINGS.flatMap(({ name }) => [`${name}.data`, `${name}.expected.txt`]);
  const found = readdirSync(`${FIXTURES}perfdata`).filter((name) => name !== 'README.md');
  assert.deepEqual(found.sort(), expected.sort());
});
