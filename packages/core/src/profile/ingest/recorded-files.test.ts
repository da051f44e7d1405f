import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { encodeUtf8, memorySource } from '../../base/index.ts';
import {
  encodeMapTimes,
  encodeRecordedFiles,
  InlinedCodeWriter,
  RECORDED_INLINED_CODE,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
  RECORDED_SOURCE_MAPS,
  type RecordedFile,
} from '../../code/jit/index.ts';
import { encodeRecordedMaps } from '../../code/source-maps/index.ts';
import { openPerfData, writePerfData } from '../../file-formats/perfdata/index.ts';
import { FEATURE_RECORDED_FILES } from '../../format/abi/index.ts';
import { ATTR, mmap2, sample } from '../../test/recordings.ts';
import { type IngestResult, ingestPerfData } from './index.ts';

// SECURITY.md: a hostile file costs memory and time in proportion to its bytes, not to what it claims. Here
// are the files that a recording brings along, each kind at its worst.

const PID = 10;
/** All that the files of a small section may hold, beside what goes with it: see `recorded-files.ts`. */
const MOST_BYTES = 2_500_000;
const SAMPLES = 2000;
const MAX_CPU_SECONDS = 8;
/** Of the whole process, which runs all shapes. A shape that made objects of all its rows took 5 GB. */
const MAX_RESIDENT_KB = 1 << 20;

function fileOf(kind: number, bytes: Uint8Array, pid = PID): RecordedFile {
  return { kind, pid, sizeBytes: bytes.length, packed: new Uint8Array(deflateSync(bytes)) };
}

/** Samples at addresses of one process's generated code. */
function recordingWith(
  files: readonly RecordedFile[],
  addressOf: (n: number) => bigint,
): Uint8Array<ArrayBuffer> {
  return writePerfData({
    attrs: [{ attr: ATTR, ids: [1n], name: 'cpu-clock' }],
    records: [
      mmap2(PID, 0n, 1n << 40n, '//anon'),
      ...Array.from({ length: SAMPLES }, (_, n) => sample({ time: BigInt(n + 1), chain: [addressOf(n)] })),
    ],
    features: { raw: new Map([[FEATURE_RECORDED_FILES, encodeRecordedFiles(files)]]) },
  });
}

const FIRST_PAGE = (n: number) => BigInt(0x1000 + (n % 0x1000));

async function answer(
  files: readonly RecordedFile[],
  addressOf: (n: number) => bigint = FIRST_PAGE,
): Promise<IngestResult> {
  const bytes = recordingWith(files, addressOf);
  const before = process.cpuUsage();
  const result = await ingestPerfData(await openPerfData(memorySource(bytes)), {
    symbols: { open: async () => null },
    sourceMaps: true,
  });
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  assert.ok(seconds < MAX_CPU_SECONDS, `${seconds} s for ${bytes.length} bytes`);
  const { maxRSS } = process.resourceUsage();
  assert.ok(maxRSS < MAX_RESIDENT_KB, `${maxRSS} kB resident`);
  return result;
}

function codesOf({ diagnostics }: IngestResult): string[] {
  return diagnostics.map(({ code }) => code);
}

function filled(pattern: string, byteLength = MOST_BYTES): Uint8Array {
  const bytes = new Uint8Array(byteLength - (byteLength % pattern.length));
  const once = encodeUtf8(pattern);
  for (let at = 0; at < bytes.length; at += once.length) bytes.set(once, at);
  return bytes;
}

/** Lines until the bytes are full. */
function linesOf(line: (n: number) => string): Uint8Array {
  const texts: string[] = [];
  for (let size = 0, n = 0; size < MOST_BYTES - 100; n++) {
    texts.push(line(n));
    size += texts[n]!.length + 1;
  }
  return encodeUtf8(`${texts.join('\n')}\n`);
}

/** LEB128 of a small count, in four bytes. */
function count(value: number): number[] {
  return [(value & 0x7f) | 0x80, ((value >> 7) & 0x7f) | 0x80, ((value >> 14) & 0x7f) | 0x80, value >> 21];
}

const SMALL_MAP = encodeUtf8('1000 1000 JS:*f /app/a.js:1:1\n');

test('a file that holds far more than its recording may is not read, whatever its kind, and it is told', async () => {
  const large = 250 << 20;
  const zeros = fileOf(0, new Uint8Array(large));
  const bomb = (kind: number) => ({ ...zeros, kind });
  assert.deepEqual(codesOf(await answer([bomb(RECORDED_PERF_MAP)])), ['recorded-map-damaged']);
  const map = fileOf(RECORDED_PERF_MAP, SMALL_MAP);
  for (const [kind, code] of [
    [RECORDED_INLINED_CODE, 'inlined-code-damaged'],
    [RECORDED_MAP_TIMES, 'map-times-damaged'],
    [RECORDED_SOURCE_MAPS, 'source-maps-damaged'],
  ] as const) {
    const result = await answer([bomb(kind), map]);
    assert.deepEqual(codesOf(result), [code]);
    // What is small beside it serves.
    assert.match(result.profile.strings.get(result.profile.symbols.name.at(0)), /^JS:f /);
  }
});

test('sixteen processes together have what one has', async () => {
  const zeros = deflateSync(new Uint8Array(8 << 20));
  const files = Array.from({ length: 16 }, (_, pid) => ({
    kind: RECORDED_MAP_TIMES,
    pid: pid + 1,
    sizeBytes: 8 << 20,
    packed: new Uint8Array(zeros),
  }));
  const maps = files.map((one) => ({ ...one, kind: RECORDED_PERF_MAP }));
  const { diagnostics } = await answer([...files, ...maps]);
  assert.match(
    diagnostics.find(({ code }) => code === 'map-times-damaged')!.detail,
    /and of 15 other processes/,
  );
  assert.match(
    diagnostics.find(({ code }) => code === 'recorded-map-damaged')!.detail,
    /at most \d+ bytes in all recorded files/,
  );
});

test('a thousand files of one process are one', async () => {
  const map = fileOf(RECORDED_PERF_MAP, filled('1000 1 a\n', 1 << 20));
  const times = fileOf(RECORDED_MAP_TIMES, encodeMapTimes([{ timeUs: 1, sizeBytes: 9 }]));
  const result = await answer([map, ...Array.from({ length: 1000 }, () => times)]);
  assert.deepEqual(codesOf(result), []);
});

test('maps: a line without an end, lines at one place, on one page, and on many pages', async () => {
  const times = fileOf(
    RECORDED_MAP_TIMES,
    new Uint8Array([1, ...count(600_000), ...filled('\u0001\u0004', 1_200_000)]),
  );
  for (const [map, hasDamage] of [
    [filled('1'), true],
    [filled('1000 1 a\n'), false],
    [linesOf((n) => `${(0x1000 + (n % 0x1000)).toString(16)} 2 f`), false],
    [linesOf((n) => `${(0x1000 + 0x3000 * n).toString(16)} 4000 f`), false],
    [linesOf((n) => `${(0x1000 + n).toString(16)} ffff f`), false],
  ] as const) {
    const files = [fileOf(RECORDED_PERF_MAP, map)];
    const expected = hasDamage ? ['perf-map-damaged'] : [];
    assert.deepEqual(codesOf(await answer([...files, times])), expected);
  }
});

test('times of a map: millions of them, over a map that is one line, and some that are damaged', async () => {
  const line = fileOf(RECORDED_PERF_MAP, encodeUtf8(`1000 1000 ${'f'.repeat(900_000)}\n1000 800 g\n`));
  const millions = new Uint8Array([1, ...count(1_250_000), ...filled('\u0001\u0001')]);
  assert.deepEqual(codesOf(await answer([line, fileOf(RECORDED_MAP_TIMES, millions)])), []);
  const cut = fileOf(RECORDED_MAP_TIMES, millions.subarray(0, 1_000_000));
  assert.deepEqual(codesOf(await answer([line, cut])), ['map-times-damaged']);
});

test('inlined code: millions of pieces, of names and of places', async () => {
  const map = fileOf(RECORDED_PERF_MAP, SMALL_MAP);
  const head = (names: number) => [3, ...count(names)];
  const name = [5, ...encodeUtf8('JS:*f')];
  const pieces = [...head(1), ...name, ...count(350_000), ...filled('\0', 7 * 350_000)];
  const evaluated = [...head(1), ...name, ...count(350_000), ...filled('\0\u0001\0\0\0\0\0', 7 * 350_000)];
  const names = [...head(1 << 20), ...filled('\u0001a', 2 << 20), 0];
  const places = [...head(1), ...name, 1, 0, 0, 0, 0, 0, 0, ...count(625_000), ...filled('\0')];
  for (const bytes of [pieces, evaluated, names, places]) {
    const files = [map, fileOf(RECORDED_INLINED_CODE, Uint8Array.from(bytes))];
    assert.deepEqual(codesOf(await answer(files)), []);
  }
});

test('what is asked of inlined code is the last piece of its copy', async () => {
  const writer = new InlinedCodeWriter();
  const piece = { recordedName: 'JS:*f /app/a.js:1:1', start: 0x1000, size: 0x1000 };
  for (const functionName of ['JS:old /app/a.js:2:1', 'JS:new /app/a.js:3:1'])
    writer.add({
      ...piece,
      calls: [{ functionName, parent: -1, line: 1, column: 1 }],
      positions: [{ offset: 0, call: 0, line: 1, column: 1 }],
    });
  const map = fileOf(RECORDED_PERF_MAP, SMALL_MAP);
  const { profile } = await answer([map, fileOf(RECORDED_INLINED_CODE, writer.bytes())]);
  const names = Array.from({ length: profile.symbols.length }, (_, row) =>
    profile.strings.get(profile.symbols.name.at(row)),
  );
  assert.ok(names.includes('JS:new /app/a.js:3:1'), names.join());
  assert.ok(!names.includes('JS:old /app/a.js:2:1'), names.join());
});

test('optimised code of which nobody knows what is inlined in it is told of, once', async () => {
  const names = ['JS:*work /app/a.js:1:14', 'JS:+more /app/a.js:2:14', 'JS:o*most /app/a.js:3:14'];
  const map = encodeUtf8(
    names.map((name, n) => `${(0x1000 * (n + 1)).toString(16)} 1000 ${name}\n`).join(''),
  );
  const maps = [10, 11].map((pid) => fileOf(RECORDED_PERF_MAP, map, pid));
  const each = (n: number) => BigInt(0x1000 * ((n % names.length) + 1));
  const told = (result: IngestResult) =>
    result.diagnostics.filter(({ code }) => code === 'inlined-code-missing').map(({ detail }) => detail);
  assert.match(
    told(await answer(maps, each)).join('\n'),
    /^what V8 inlined in process 10 is not in the recording/,
  );
  const writer = new InlinedCodeWriter();
  const positions = [{ offset: 0, call: -1, line: 1, column: 14 }];
  writer.add({ recordedName: names[0]!, start: 0x1000, size: 0x1000, calls: [], positions });
  assert.deepEqual(told(await answer([...maps, fileOf(RECORDED_INLINED_CODE, writer.bytes())], each)), []);
});

test('source maps: deep, and with millions of names', async () => {
  const map = fileOf(RECORDED_PERF_MAP, SMALL_MAP);
  const deep = filled('[');
  const closed = encodeUtf8(`{"version":1,"maps":[],"x":${'['.repeat(1_200_000)}${']'.repeat(1_200_000)}}`);
  for (const bytes of [deep, closed])
    assert.deepEqual(codesOf(await answer([map, fileOf(RECORDED_SOURCE_MAPS, bytes)])), [
      'source-maps-damaged',
    ]);
  const script = '/app/a.js';
  const nested = encodeRecordedMaps([{ script, map: '['.repeat(MOST_BYTES), names: [], fault: null }]);
  const names = Array.from({ length: 200_000 }, (_, n): [number, number, string] => [n, 1, 'f']);
  const named = encodeRecordedMaps([{ script, map: '{"version":3}', names, fault: null }]);
  const lines = encodeRecordedMaps([
    {
      script,
      map: `{"version":3,"sources":["a.ts"],"mappings":"${';'.repeat(MOST_BYTES)}"}`,
      names: [],
      fault: null,
    },
  ]);
  for (const [bytes, codes] of [
    [nested, ['source-maps']],
    [named, null],
    [lines, null],
  ] as const) {
    const result = await answer([map, fileOf(RECORDED_SOURCE_MAPS, bytes)]);
    if (codes !== null) assert.deepEqual(codesOf(result), codes);
  }
});
