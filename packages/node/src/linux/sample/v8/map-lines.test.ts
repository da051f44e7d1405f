import assert from 'node:assert/strict';
import { appendFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/perf.ts';
import { MapLines, mapLineOf } from './map-lines.ts';

test('a line of a map has two numbers in hexadecimal and a name, which has spaces', () => {
  assert.deepEqual(mapLineOf('7f00a1b2c3d4 1f JS:~get a /my files/a b.js:1:2'), {
    start: 0x7f00a1b2c3d4,
    size: 0x1f,
    recordedName: 'JS:~get a /my files/a b.js:1:2',
  });
  assert.deepEqual(mapLineOf('a 0  x'), { start: 10, size: 0, recordedName: ' x' });
});

test('what is no line is none', () => {
  const lines = [
    '',
    ' ',
    '  ',
    'a',
    'a b',
    'a b ',
    ' a b c',
    'a  b c',
    'xyz 10 name',
    '-10 10 name',
    '10 1.5 name',
    '0x10 10 name',
    '1_0 10 name',
    '12345678901234567 10 name',
    '10 123456789 name',
    '10\t20\tname of it',
  ];
  for (const line of lines) assert.equal(mapLineOf(line), null, line);
});

test('a map that grows: each whole line once, however long it is', (t) => {
  const path = join(temporaryFolder(t), 'map');
  using lines = new MapLines([path], process.getuid!());
  const names = () => [...lines.read()].map(({ recordedName }) => recordedName);
  assert.deepEqual([lines.sizeBytes, names()], [0, []]);
  writeFileSync(path, '10 20 first\n30 20 sec');
  assert.deepEqual([lines.sizeBytes, names()], [21, ['first']]);
  assert.deepEqual(names(), []);
  appendFileSync(path, 'ond\n');
  assert.deepEqual([lines.sizeBytes, names()], [25, ['second']]);
  const many = Array.from({ length: 5000 }, (_, i) => `name ${i} ${'x'.repeat(i % 50)}`);
  const long = 'long '.repeat(30_000);
  appendFileSync(path, [...many, long, 'last'].map((name) => `10 20 ${name}\n`).join(''));
  assert.deepEqual(names(), [...many, long, 'last']);
  // A line that never ends is none, and holds nobody up.
  appendFileSync(path, `10 20 ${'x'.repeat(3 << 20)}`);
  assert.deepEqual(names(), []);
  assert.deepEqual(names(), []);
});

test('a map that was begun anew is read from its first line', (t) => {
  const path = join(temporaryFolder(t), 'map');
  using lines = new MapLines([path], process.getuid!());
  const names = () => [...lines.read()].map(({ recordedName }) => recordedName);
  writeFileSync(path, '10 20 before\n30 20 before too\n');
  assert.deepEqual(names(), ['before', 'before too']);
  writeFileSync(path, '10 20 anew\n');
  assert.deepEqual([lines.sizeBytes, names()], [11, ['anew']]);
  appendFileSync(path, '30 20 more\n');
  assert.deepEqual(names(), ['more']);
});

test('a map that is older than its process is not opened until the process writes it', (t) => {
  const path = join(temporaryFolder(t), 'map');
  const startMs = Date.now() - 60_000;
  using lines = new MapLines([path], process.getuid!(), startMs);
  writeFileSync(path, '10 20 of another\n30 20 of another\n');
  utimesSync(path, startMs / 1000 - 1, startMs / 1000 - 1);
  assert.deepEqual([lines.isThere, lines.sizeBytes, [...lines.read()]], [false, 0, []]);
  writeFileSync(path, '10 20 own\n');
  assert.deepEqual(
    [...lines.read()].map(({ recordedName }) => recordedName),
    ['own'],
  );
});
