import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../../profile/tables/index.ts';
import { collectText } from '../../../test/collect.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { assertGolden } from '../../../test/golden.ts';
import type { ExportOptions } from '../options.ts';
import { CATEGORIES, LOSS_MARKER } from './facts.ts';
import { writeFirefox } from './firefox.ts';
import { breakpadId } from './libraries.ts';

type Column = (number | string | boolean | null)[];
type Table = { length: number } & Record<string, Column>;

interface FirefoxThread {
  name: string;
  processName: string;
  pid: string;
  tid: number;
  isMainThread: boolean;
  samples: Table & { weightType: string };
  markers: Table;
}

interface FirefoxFile {
  meta: { preprocessedProfileVersion: number; interval: number; markerSchema: { name: string }[] };
  libs: { breakpadId: string; codeId: string | null }[];
  threads: FirefoxThread[];
  shared: Record<
    'stackTable' | 'frameTable' | 'funcTable' | 'resourceTable' | 'nativeSymbols' | 'sources',
    Table
  > & {
    stringArray: string[];
  };
}

/** Every column of each table, as src/types/profile.ts of version 61 requires them. */
const COLUMNS = {
  stackTable: ['frame', 'prefix'],
  frameTable: [
    ...['address', 'inlineDepth', 'category', 'subcategory', 'func', 'nativeSymbol', 'innerWindowID'],
    ...['line', 'column'],
  ],
  funcTable: ['name', 'isJS', 'relevantForJS', 'resource', 'source', 'lineNumber', 'columnNumber'],
  resourceTable: ['lib', 'name', 'host', 'type'],
  nativeSymbols: ['libIndex', 'address', 'name', 'functionSize'],
  sources: ['id', 'filename', 'startLine', 'startColumn', 'sourceMapURL'],
} as const;

function written(profile: Profile, options?: ExportOptions): FirefoxFile {
  return JSON.parse(collectText(writeFirefox(profile, options)));
}

function assertTable(name: string, table: Table, columns: readonly string[]): void {
  for (const column of columns) assert.equal(table[column]?.length, table.length, `${name}.${column}`);
}

function assertIndices(name: string, column: Column, limit: number, isOptional = false): void {
  for (const value of column) {
    if (isOptional && value === null) continue;
    assert.ok(
      Number.isInteger(value) && (value as number) >= 0 && (value as number) < limit,
      `${name}: ${value}`,
    );
  }
}

/** Columns complete, indices in range, parents first, times ascending. */
function assertFormat({ libs, shared, threads, meta }: FirefoxFile): void {
  const { stackTable, frameTable, funcTable, resourceTable, nativeSymbols, sources, stringArray } = shared;
  for (const [name, columns] of Object.entries(COLUMNS)) {
    assertTable(name, shared[name as keyof typeof COLUMNS], columns);
  }
  assertIndices('stack frames', stackTable.frame!, frameTable.length);
  for (const [row, prefix] of stackTable.prefix!.entries())
    assert.ok(prefix === null || Number(prefix) < row);
  assertIndices('functions', frameTable.func!, funcTable.length);
  assertIndices('native symbols', frameTable.nativeSymbol!, nativeSymbols.length, true);
  assertIndices('categories', frameTable.category!, CATEGORIES.length);
  for (const [row, category] of frameTable.category!.entries()) {
    const { subcategories } = CATEGORIES[category as number]!;
    assertIndices('subcategories', [frameTable.subcategory![row]!], subcategories.length);
  }
  assertIndices('names', funcTable.name!, stringArray.length);
  assertIndices('resources', funcTable.resource!, resourceTable.length);
  assertIndices('sources', funcTable.source!, sources.length, true);
  assertIndices('resource names', resourceTable.name!, stringArray.length);
  assertIndices('libraries', resourceTable.lib!, libs.length, true);
  assertIndices('symbol libraries', nativeSymbols.libIndex!, libs.length);
  assertIndices('symbol names', nativeSymbols.name!, stringArray.length);
  assertIndices('files', sources.filename!, stringArray.length);
  for (const address of frameTable.address!) assert.ok(Number.isSafeInteger(address), `address ${address}`);
  const kinds = meta.markerSchema.map((schema) => schema.name);
  for (const { samples, markers } of threads) {
    assertTable('samples', samples, ['stack', 'timeDeltas', 'weight']);
    assertIndices('sample stacks', samples.stack!, stackTable.length, true);
    assert.ok(samples.timeDeltas!.every((delta) => Number(delta) >= 0));
    assertTable('markers', markers, ['data', 'name', 'startTime', 'endTime', 'phase', 'category']);
    assertIndices('marker names', markers.name!, stringArray.length);
    for (const data of markers.data! as unknown as { type: string }[]) assert.ok(kinds.includes(data.type));
  }
}

test('the small profile', () => {
  const text = collectText(writeFirefox(smallProfile()));
  assertFormat(JSON.parse(text));
  assertGolden('export/small.firefox.json', `${JSON.stringify(JSON.parse(text), null, 1)}\n`);
});

test('every sample is there with its time, its weight in milliseconds and its use of the CPU', () => {
  const profile = bigProfile(20_000, 5000);
  const file = written(profile);
  assertFormat(file);
  assert.equal(
    file.threads.reduce((sum, thread) => sum + thread.samples.length, 0),
    20_000,
  );
  for (const { samples, tid } of file.threads) {
    assert.equal(samples.weightType, 'tracing-ms');
    assert.ok(samples.weight!.every((weight) => weight === 0.25));
    assert.ok(samples.threadCPUDelta!.every((delta) => delta === 250_000));
    const times: number[] = [];
    for (let sample = 0; sample < profile.samples.length; sample++) {
      if (profile.threads.tid.at(profile.samples.thread.at(sample)) === tid) {
        times.push(profile.samples.timeNs.at(sample));
      }
    }
    const sums = samples.timeDeltas!.map((delta) => Math.round(Number(delta) * 1e6));
    assert.equal(
      sums.reduce((sum, delta) => sum + delta, 0),
      times.at(-1),
    );
  }
});

test('losses are markers: of their thread where it is known, else of the busiest one', () => {
  const { threads, shared } = written(smallProfile());
  const [main, worker] = threads;
  const range = main!.markers;
  assert.equal(shared.stringArray[range.name![0] as number], LOSS_MARKER);
  assert.deepEqual([range.startTime, range.endTime, range.phase], [[4000 / 1000], [6000 / 1000], [1]]);
  const instant = worker!.markers;
  assert.deepEqual([instant.startTime, instant.endTime, instant.phase], [[9], [null], [0]]);
  assert.deepEqual(instant.data, [
    {
      type: LOSS_MARKER,
      words: 'at least 17 samples dropped by the kernel',
      kind: 'lost-samples',
      event: 'cpu-clock',
      exact: 'at least',
    },
  ] as unknown);
});

test('kernel addresses are beyond 2^53: they are counted from the lowest, and stay exact', () => {
  const { shared } = written(smallProfile());
  const addressOf = (name: string) => {
    const func = shared.funcTable.name!.indexOf(shared.stringArray.indexOf(name));
    return shared.frameTable.address![shared.frameTable.func!.indexOf(func)];
  };
  assert.equal(
    Number(addressOf('copy_user_enhanced_fast_string')) - Number(addressOf('vfs_read')),
    0xa0_5010 - 0x3b_1000,
  );
  assert.equal(addressOf('read'), 0x10e1e0);
});

test('by samples', () => {
  const file = written(smallProfile(), { weight: 'samples' });
  assertFormat(file);
  assert.equal(file.threads[0]!.samples.weightType, 'samples');
  assert.ok(file.threads[0]!.samples.weight!.every((weight) => weight === 1));
});

test('breakpad ids: the first 16 bytes of a build id as a GUID', () => {
  assert.equal(breakpadId('d3e4c2a1b8f612349abcdef0123456780badcafe'), 'A1C2E4D3F6B834129ABCDEF0123456780');
  assert.equal(breakpadId('0102'), '000002010000000000000000000000000');
  assert.equal(breakpadId('not hex'), '0'.repeat(33));
  assert.equal(breakpadId(''), '0'.repeat(33));
});

test('hostile names, no times and the highest addresses', () => {
  const file = written(hostileProfile());
  assertFormat(file);
  assert.equal(file.threads.length, 16);
});
