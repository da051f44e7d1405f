/**
 * One function is one row, however often and by whatever it was compiled: in every answer and every export.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { openPerfData } from '../../file-formats/perfdata/index.ts';
import { ingestPerfData } from '../../profile/ingest/index.ts';
import { assertTableInvariants, type Profile, recordedName } from '../../profile/tables/index.ts';
import { collectBytes, collectText } from '../../test/collect.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { bytesOf, numberOf, readMessage } from '../../test/read-protobuf.ts';
import { comm, mmap2, recording, sample } from '../../test/recordings.ts';
import { callTree, topFunctions } from '../index.ts';
import { encodePprof, writeFirefox, writeFlameSvg, writeFolded, writeSpeedscope } from './index.ts';
import {
  FUNCTION_ID,
  FUNCTION_NAME,
  LINE_FUNCTION_ID,
  LOCATION_LINE,
  PROFILE_FUNCTION,
  PROFILE_LOCATION,
  PROFILE_STRING_TABLE,
} from './pprof/fields.ts';

const JIT = 0x7f00_0000_0000n;
/** A function compiled five times, another that calls it, and code that the map says nothing of. */
const MAP = `7f0000001000 100 JS:~multiply /app/calc.js:1:18
7f0000001100 100 JS:^multiply /app/calc.js:1:18
7f0000001200 100 LazyCompile:*multiply /app/calc.js:1:18
7f0000001300 100 JS:*multiply /app/calc.js:1:18
7f0000001400 100 JS:o*multiply /app/calc.js:1:18
7f0000002000 100 JS:*main /app/calc.js:20:1
7f0000003000 100 Builtin:ArrayMap
7f0000004000 100 Ljava/lang/String;::hashCode
7f0000004100 100 Ljava/lang/String;::hashCode
`;

async function jitProfile(): Promise<Profile> {
  const reader = await openPerfData(
    memorySource(
      recording([
        comm(10, 'node', 0n),
        mmap2(10, JIT, 0x10000n, '//anon'),
        ...[0x1010n, 0x1110n, 0x1210n, 0x1310n, 0x1410n].map((at, index) =>
          sample({ time: BigInt(index + 1), chain: [JIT + at, JIT + 0x2010n] }),
        ),
        sample({ time: 7n, chain: [JIT + 0x3010n, JIT + 0x1020n] }),
        ...[0x4010n, 0x4110n].map((at, index) => sample({ time: BigInt(index + 8), chain: [JIT + at] })),
        ...[0x9010n, 0x9110n, 0x9210n].map((at, index) =>
          sample({ time: BigInt(index + 10), chain: [JIT + at] }),
        ),
      ]),
    ),
  );
  const symbols = new MemoryDriver({ 'perf-map /tmp/perf-10.map': MAP });
  const { profile } = await ingestPerfData(reader, { symbols });
  assertTableInvariants(profile);
  return profile;
}

test('symbols are functions, and each copy keeps its own name', async () => {
  const profile = await jitProfile();
  const { frames, symbols, strings } = profile;
  const names = Array.from(symbols.name.view(), (name) => strings.get(name));
  assert.deepEqual(names.sort(), [
    'Builtin:ArrayMap',
    'JS:main /app/calc.js:20:1',
    'JS:multiply /app/calc.js:1:18',
    'Ljava/lang/String;::hashCode',
  ]);
  const recorded = Array.from({ length: frames.length }, (_, frame) => recordedName(profile, frame));
  assert.ok(recorded.includes('LazyCompile:*multiply /app/calc.js:1:18'));
  assert.ok(recorded.includes('JS:^multiply /app/calc.js:1:18'));
  assert.ok(recorded.includes(null));
});

test('rows: one for each function, one for all nameless code', async () => {
  const profile = await jitProfile();
  const { rows } = topFunctions(profile, { sort: ['symbol'] });
  assert.deepEqual(
    rows.map(({ symbol, samples }) => [symbol, samples]),
    [
      ['JS:multiply /app/calc.js:1:18', 5],
      ['[JIT without names]', 3],
      ['Ljava/lang/String;::hashCode', 2],
      ['Builtin:ArrayMap', 1],
    ],
  );
  const { file, line, column } = rows[0]!;
  assert.deepEqual({ file, line, column }, { file: '/app/calc.js', line: 1, column: 18 });
  assert.ok(!('file' in rows[1]!));
  const all = topFunctions(profile, { sort: ['dso', 'symbol'], children: true }).rows;
  assert.equal(all.find(({ symbol }) => symbol?.includes('multiply'))!.totalPeriod, '6000');
});

test('tier and copy tell rows apart where they are asked for', async () => {
  const profile = await jitProfile();
  const multiply = { symbols: new Set(['multiply']) };
  const tiers = topFunctions(profile, { sort: ['symbol', 'tier'], ...multiply }).rows;
  assert.deepEqual(
    tiers.map(({ tier, samples }) => [tier, samples]),
    [
      ['TurboFan', 3],
      ['Ignition', 1],
      ['Sparkplug', 1],
    ],
  );
  const copies = topFunctions(profile, { sort: ['symbol', 'copy'], ...multiply }).rows;
  assert.deepEqual(copies.map(({ copy }) => copy).sort(), [
    '0x7f0000001000',
    '0x7f0000001100',
    '0x7f0000001200',
    '0x7f0000001300',
    '0x7f0000001400',
  ]);
});

test('a function is found by its name, with or without its place; marks are no part of it', async () => {
  const profile = await jitProfile();
  for (const name of [
    'multiply',
    'JS:multiply',
    'multiply /app/calc.js:1:18',
    'JS:multiply /app/calc.js:1:18',
    'JS:*multiply /app/calc.js:1:18',
    'LazyCompile:~multiply /app/calc.js:1:18',
  ]) {
    const { rows } = topFunctions(profile, { sort: ['symbol'], symbols: new Set([name]) });
    assert.deepEqual([rows.length, rows[0]?.samples], [1, 5], name);
  }
  for (const name of ['*multiply', 'multi', 'multiply /app/calc.js:1:19'])
    assert.equal(topFunctions(profile, { symbols: new Set([name]) }).rows.length, 0, name);
});

test('call trees have one node for a function', async () => {
  const { roots } = callTree(await jitProfile(), { minimumPercent: 0 });
  const main = roots.find(({ name }) => name.includes('main'))!;
  assert.deepEqual(
    main.children.map(({ name, samples }) => [name, samples]),
    [['JS:multiply /app/calc.js:1:18', 5]],
  );
  assert.equal(roots.filter(({ name }) => name === '[JIT without names]').length, 1);
});

test('exports have one frame for a function', async () => {
  const profile = await jitProfile();
  assert.deepEqual(collectText(writeFolded(profile)).trim().split('\n'), [
    'node;JS:main /app/calc.js:20:1;JS:multiply /app/calc.js:1:18 5',
    'node;JS:multiply /app/calc.js:1:18;Builtin:ArrayMap 1',
    'node;Ljava/lang/String:::hashCode 2',
    'node;[JIT without names] 3',
  ]);

  const speedscope = JSON.parse(collectText(writeSpeedscope(profile)));
  const frames: { name: string; file?: string; line?: number }[] = speedscope.shared.frames;
  const named = (name: string) => frames.filter((frame) => frame.name === name);
  assert.deepEqual(named('multiply'), [{ name: 'multiply', file: '/app/calc.js', line: 1, col: 18 }]);
  assert.equal(named('[JIT without names]').length, 1);

  const firefox = JSON.parse(collectText(writeFirefox(profile)));
  const { funcTable, stringArray } = firefox.shared;
  const functions: string[] = funcTable.name.map((name: number) => stringArray[name]);
  assert.deepEqual(functions.sort(), [
    'Builtin:ArrayMap',
    'Ljava/lang/String;::hashCode',
    '[JIT without names]',
    'main',
    'multiply',
  ]);

  const svg = collectText(writeFlameSvg(profile));
  const data = JSON.parse(
    /<script[^>]*id="flame-data"[^>]*>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?<\/script>/s.exec(svg)![1]!,
  );
  const boxes = data.labels.name.map((name: string, label: number) => [name, data.labels.tier[label]]);
  assert.deepEqual(
    boxes.filter(([name]: [string]) => name === 'multiply'),
    [['multiply', '~^*']],
  );
});

test('pprof: every location of JIT code has a function, one for all nameless code', async () => {
  const file = readMessage(collectBytes(encodePprof(await jitProfile())));
  const strings = bytesOf(file, PROFILE_STRING_TABLE).map((text) => new TextDecoder().decode(text));
  const names = new Map(
    bytesOf(file, PROFILE_FUNCTION)
      .map(readMessage)
      .map((entry) => [numberOf(entry, FUNCTION_ID), strings[Number(numberOf(entry, FUNCTION_NAME))]]),
  );
  assert.deepEqual([...names.values()].sort(), [
    'Builtin:ArrayMap',
    'Ljava/lang/String;::hashCode',
    '[JIT without names]',
    'main',
    'multiply',
  ]);
  for (const location of bytesOf(file, PROFILE_LOCATION).map(readMessage)) {
    const line = readMessage(bytesOf(location, LOCATION_LINE)[0]!);
    assert.ok(names.has(numberOf(line, LINE_FUNCTION_ID)));
  }
});
