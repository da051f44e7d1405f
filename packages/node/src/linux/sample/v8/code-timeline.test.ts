import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NAME_NOT_CERTAIN } from '@counterpoint/core/jit';
import { codeHistory } from '../../../../../core/src/code/jit/code-history.ts';
import { parsePerfMap } from '../../../../../core/src/code/jit/perf-map.ts';
import { orderByAddress } from '../../../../../core/src/code/symbols/sort-addresses.ts';
import { CodeTimeline } from './code-timeline.ts';

const SECOND = 1_000_000;
const named = (timeline: CodeTimeline, start: number, name: string) => {
  const seen = timeline.add(start, 0x100)!;
  seen.name = name;
  return seen;
};

/** What readers of the map say is at an address at a time. */
function reader(timeline: CodeTimeline, lastLookUs: number): (address: number, timeUs: number) => string {
  const { text, times } = timeline.map(lastLookUs);
  const map = parsePerfMap(new TextEncoder().encode(text));
  const history = codeHistory(map, orderByAddress(map.start), {
    timeNs: Float64Array.from(times, ({ timeUs }) => timeUs * 1000),
    lines: Uint32Array.from(times, ({ sizeBytes }) => text.slice(0, sizeBytes).split('\n').length - 1),
  });
  const nameOf = (line: number) => text.split('\n')[line]!.replace(/^\S+ \S+ /, '');
  return (address, timeUs) => {
    const line = history?.lineAt(address, history.versionAt(timeUs * 1000)) ?? -1;
    if (line >= 0) return nameOf(line);
    const found = Array.from(map.start).findIndex(
      (start, row) => address >= start && address < map.end[row]!,
    );
    return line === -1 && found >= 0 ? nameOf(found) : `${line}`;
  };
}

test('code of a program that drops none counts from when it was not there, however far apart looks are', () => {
  const timeline = new CodeTimeline(100);
  named(timeline, 0x1000, 'JS:*old a.js:1:1');
  timeline.open({ fromUs: SECOND, toUs: 2 * SECOND });
  named(timeline, 0x2000, 'JS:*new a.js:2:1');
  const at = reader(timeline, 9 * SECOND);
  assert.equal(at(0x1010, 1.5 * SECOND), 'JS:*old a.js:1:1');
  assert.equal(at(0x2010, 1.1 * SECOND), 'JS:*new a.js:2:1');
  assert.equal(at(0x2010, 20 * SECOND), 'JS:*new a.js:2:1');
});

test('code is certain only between two looks that both saw it, where other code went away', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:*old a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 11 * SECOND });
  timeline.end(old);
  const next = named(timeline, 0x1080, 'JS:*next a.js:2:1');
  named(timeline, 0x5000, 'JS:*beside a.js:3:1');
  timeline.open({ fromUs: 20 * SECOND, toUs: 21 * SECOND });
  timeline.end(next);
  const at = reader(timeline, 30 * SECOND);
  assert.equal(at(0x1090, 9 * SECOND), 'JS:*old a.js:1:1');
  assert.equal(at(0x1090, 10.5 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(at(0x1090, 12 * SECOND), 'JS:*next a.js:2:1');
  assert.equal(at(0x1090, 20.5 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(at(0x1090, 25 * SECOND), NAME_NOT_CERTAIN);
  // Whatever was there before, nobody saw it.
  assert.equal(at(0x5010, 5 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(at(0x5010, 10.5 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(at(0x5010, 11.5 * SECOND), 'JS:*beside a.js:3:1');
});

test('a process that has just collected code may do so behind the last look', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:*old a.js:1:1');
  named(timeline, 0x2000, 'JS:*other a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 10.1 * SECOND });
  timeline.end(old);
  assert.equal(reader(timeline, 10.2 * SECOND)(0x2010, 10.3 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(reader(timeline, 12 * SECOND)(0x2010, 12.3 * SECOND), 'JS:*other a.js:1:1');
});

test('code whose first bytes have changed is the same where its function and its size are', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:*f a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 11 * SECOND });
  timeline.end(old);
  named(timeline, 0x1000, 'JS:*f a.js:1:1');
  const at = reader(timeline, 30 * SECOND);
  for (const timeUs of [1, 10.5 * SECOND, 12 * SECOND]) assert.equal(at(0x1010, timeUs), 'JS:*f a.js:1:1');
});

test('between two copies of a function that is compiled again and again nothing else was there', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:+f a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 11 * SECOND });
  timeline.end(old);
  const next = named(timeline, 0x1080, 'JS:*f a.js:1:1');
  timeline.open({ fromUs: 20 * SECOND, toUs: 21 * SECOND });
  timeline.end(next);
  const at = reader(timeline, 30 * SECOND);
  assert.equal(at(0x1090, 9 * SECOND), 'JS:+f a.js:1:1');
  assert.match(at(0x1090, 10.5 * SECOND), /^JS:.f a\.js/);
  assert.equal(at(0x1090, 20.5 * SECOND), NAME_NOT_CERTAIN);
});

test('code without a name keeps the names of other code away', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:*f a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 11 * SECOND });
  timeline.end(old);
  timeline.add(0x1000, 0x100);
  assert.equal(reader(timeline, 30 * SECOND)(0x1010, 12 * SECOND), '[JIT without names]');
});

test('code that got its name after other code went away does not have it before', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:*old a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 11 * SECOND });
  const late = named(timeline, 0x5000, '');
  timeline.open({ fromUs: 20 * SECOND, toUs: 21 * SECOND });
  timeline.end(old);
  timeline.bornLater(late);
  late.name = 'JS:*late a.js:2:1';
  const at = reader(timeline, 30 * SECOND);
  assert.equal(at(0x5010, 15 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(at(0x5010, 25 * SECOND), 'JS:*late a.js:2:1');
});

test('where the end of the last collection is known, what was found after it counts from then on', () => {
  const timeline = new CodeTimeline(100);
  const old = named(timeline, 0x1000, 'JS:*old a.js:1:1');
  timeline.open({ fromUs: 10 * SECOND, toUs: 11 * SECOND, collectedUs: 10.4 * SECOND });
  timeline.end(old);
  named(timeline, 0x5000, 'JS:*hot a.js:2:1');
  // Without that, all of this would be near a collection.
  timeline.open({ fromUs: 11 * SECOND, toUs: 11.5 * SECOND, collectedUs: 10.4 * SECOND });
  named(timeline, 0x6000, 'JS:*later a.js:3:1');
  timeline.open({ fromUs: 11.5 * SECOND, toUs: 11.7 * SECOND });
  named(timeline, 0x7000, 'JS:*untold a.js:4:1');
  const at = reader(timeline, 30 * SECOND);
  assert.equal(at(0x5010, 10.2 * SECOND), NAME_NOT_CERTAIN);
  assert.equal(at(0x5010, 10.6 * SECOND), 'JS:*hot a.js:2:1');
  assert.equal(at(0x6010, 10.6 * SECOND), 'JS:*later a.js:3:1');
  assert.equal(at(0x6010, 20 * SECOND), 'JS:*later a.js:3:1');
  assert.equal(at(0x7010, 11.4 * SECOND), NAME_NOT_CERTAIN);
});
