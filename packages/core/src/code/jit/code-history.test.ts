import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/random.ts';
import { orderByAddress } from '../symbols/sort-addresses.ts';
import { type CodeHistory, codeHistory, UNKNOWN_LINE } from './code-history.ts';
import { decodeMapTimes, encodeMapTimes } from './map-times.ts';
import { parsePerfMap } from './perf-map.ts';

interface LineTime {
  timeNs: number;
  lines: number;
}

function historyOf(lines: readonly string[], times: readonly LineTime[]): CodeHistory | null {
  const map = parsePerfMap(new TextEncoder().encode(`${lines.join('\n')}\n`));
  assert.equal(map.count, lines.length);
  return codeHistory(map, orderByAddress(map.start), {
    timeNs: Float64Array.from(times, ({ timeNs }) => timeNs),
    lines: Uint32Array.from(times, ({ lines }) => lines),
  });
}

test('an address is that of the function whose code was there', () => {
  const history = historyOf(
    ['1000 100 old', '2000 100 other', '1080 100 new', '1000 40 newest'],
    [
      { timeNs: 10, lines: 1 },
      { timeNs: 20, lines: 2 },
      { timeNs: 30, lines: 3 },
      { timeNs: 40, lines: 4 },
    ],
  )!;
  const at = (address: number, timeNs: number) => history.lineAt(address, history.versionAt(timeNs));
  assert.deepEqual(
    [0, 10, 19, 20, 25, 30, 39, 100].map((timeNs) => at(0x10a0, timeNs)),
    // Between the last time at which it was missing and the first one at which it was there: nobody knows.
    [0, 0, 0, UNKNOWN_LINE, UNKNOWN_LINE, 2, 2, 2],
  );
  assert.deepEqual(
    [25, 29, 30, 50].map((timeNs) => at(0x1010, timeNs)),
    [0, 0, UNKNOWN_LINE, 3],
  );
  // Nothing else was ever there.
  assert.equal(at(0x2010, 50), -1);
  assert.equal(at(0x1f00, 50), -1);
  // Before it was written nobody can have run it; then nothing else is known there.
  assert.equal(at(0x1170, 0), UNKNOWN_LINE);
  assert.equal(at(0x1170, 25), 2);
});

test('between the first and the last look at a map that did not grow everything is known', () => {
  const history = historyOf(
    ['1000 100 old', '1000 100 new', '1000 100 newest'],
    [
      { timeNs: 10, lines: 1 },
      { timeNs: 20, lines: 2 },
      { timeNs: 500, lines: 2 },
      { timeNs: 510, lines: 3 },
    ],
  )!;
  assert.deepEqual(
    [5, 10, 19, 20, 499, 500, 509, 510].map((timeNs) => history.lineAt(0x1010, history.versionAt(timeNs))),
    [0, UNKNOWN_LINE, UNKNOWN_LINE, 1, 1, UNKNOWN_LINE, UNKNOWN_LINE, 2],
  );
});

test('a line that is written twice is one piece of code, and two of one time have none between them', () => {
  const twice = historyOf(['1000 100 f', '1000 100 f'], [{ timeNs: 10, lines: 1 }])!;
  assert.equal(twice.lineAt(0x1010, twice.versionAt(20)), 1);
  const exact = historyOf(
    ['1000 100 f', '1000 100 g'],
    [
      { timeNs: 0, lines: 1 },
      { timeNs: 10, lines: 1 },
      { timeNs: 10, lines: 2 },
    ],
  )!;
  assert.deepEqual(
    [9, 10].map((timeNs) => exact.lineAt(0x1010, exact.versionAt(timeNs))),
    [0, 1],
  );
});

test('where no memory is used twice there is nothing to tell apart', () => {
  assert.equal(historyOf(['1000 100 a', '1100 100 b'], [{ timeNs: 1, lines: 0 }]), null);
  assert.equal(historyOf(['1000 100 a', '1000 100 b'], []), null);
});

test('versions end where the next one begins', () => {
  const history = historyOf(
    ['1000 10 a', '1000 10 b', '1000 10 c'],
    [
      { timeNs: 5, lines: 1 },
      { timeNs: 7, lines: 2 },
    ],
  )!;
  for (const timeNs of [0, 5, 6, 7, 8]) {
    const version = history.versionAt(timeNs);
    assert.ok(timeNs < history.endOf(version));
    if (version > 0) assert.ok(timeNs >= history.endOf(version - 1));
  }
  assert.equal(history.endOf(history.versionAt(7)), Infinity);
});

test('answers are those of a table that is made anew for each time', () => {
  const random = new Random(7);
  const lines = Array.from({ length: 300 }, (_, row) => {
    const start = 0x1000 + 16 * random.below(600);
    return { start, end: start + 16 * (1 + random.below(40)), text: '', row };
  });
  const texts = lines.map(
    ({ start, end, row }) => `${start.toString(16)} ${(end - start).toString(16)} f${row}`,
  );
  const times = Array.from({ length: 60 }, (_, row) => ({ timeNs: 10 * row, lines: 5 * row }));
  const history = historyOf(texts, times)!;
  for (let n = 0; n < 5000; n++) {
    const address = 0x1000 + random.below(0x2800);
    const timeNs = random.below(700);
    // What could have been written by then.
    const limit = times.find((time) => time.timeNs > timeNs)?.lines ?? lines.length;
    const written = times.findLast((time) => time.timeNs <= timeNs)?.lines ?? 0;
    const there = lines.filter(({ start, end }) => address >= start && address < end);
    const latest = there.findLast(({ row }) => row < written);
    const possible = there.filter(({ row }) => row < limit && (row >= written || row === latest?.row));
    const expected = possible.length === 1 ? possible[0]!.row : UNKNOWN_LINE;
    const found = history.lineAt(address, history.versionAt(timeNs));
    if (found === -1) assert.ok(there.length <= 1, `${address} at ${timeNs}`);
    else assert.equal(found, expected, `${address.toString(16)} at ${timeNs}`);
  }
});

test('a map that no compiler writes is left alone, in bounded time', () => {
  const lines = Array.from({ length: 3000 }, (_, row) => `${(0x1000 + row).toString(16)} 3f00000 f`);
  assert.equal(historyOf(lines, [{ timeNs: 1, lines: 1 }]), null);
});

test('times of a map are read as they were written; damage is refused', () => {
  const times = [
    { timeUs: 0, sizeBytes: 0 },
    { timeUs: 5_000_000_000, sizeBytes: 400 },
    { timeUs: 2 ** 51, sizeBytes: 2 ** 40 },
  ];
  const bytes = encodeMapTimes(times);
  const { count, timeUs, sizeBytes } = decodeMapTimes(bytes);
  assert.equal(count, times.length);
  assert.deepEqual(
    Array.from(timeUs, (time, row) => ({ timeUs: time, sizeBytes: sizeBytes[row]! })),
    times,
  );
  // Each time has two bytes, or more.
  assert.throws(() => decodeMapTimes(Uint8Array.of(1, 3, 0, 0, 0, 0, 0)), { name: 'FormatError' });
  for (let end = 0; end < bytes.length; end++)
    assert.throws(() => decodeMapTimes(bytes.subarray(0, end)), { name: 'FormatError' });
  assert.throws(() => decodeMapTimes(Uint8Array.of(9, 0)), /version 1/);
});
