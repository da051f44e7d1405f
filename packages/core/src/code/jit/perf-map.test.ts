import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PerfMap, PerfMapParser, parsePerfMap } from './index.ts';

const parse = (text: string): PerfMap => parsePerfMap(new TextEncoder().encode(text));

function lines(map: PerfMap): [number, number, string][] {
  return Array.from({ length: map.count }, (_, line) => [
    map.start[line]!,
    map.end[line]!,
    new TextDecoder().decode(map.names.subarray(map.nameStart[line]!, map.nameStart[line + 1]!)),
  ]);
}

test('lines as V8, HotSpot agents and Python write them', () => {
  const map = parse(
    [
      '7f41d2c04a20 1c4 LazyCompile:*parse file:///app/parse.js:12:8',
      '0x7f41d2c05000 0x20 Lcom/foo/Bar;::baz',
      '7F41D2C06000 8 py::größe:/tmp/a b.py\r',
      'ffffffff81000000 10 high',
      '1000 0 unknown size',
      '2000 10 last without newline',
    ].join('\n'),
  );
  assert.equal(map.damage.total, 0);
  assert.deepEqual(lines(map), [
    [0x7f41_d2c0_4a20, 0x7f41_d2c0_4be4, 'LazyCompile:*parse file:///app/parse.js:12:8'],
    [0x7f41_d2c0_5000, 0x7f41_d2c0_5020, 'Lcom/foo/Bar;::baz'],
    [0x7f41_d2c0_6000, 0x7f41_d2c0_6008, 'py::größe:/tmp/a b.py'],
    [-0x7f00_0000, -0x7eff_fff0, 'high'],
    [0x1000, 0x1001, 'unknown size'],
    [0x2000, 0x2010, 'last without newline'],
  ]);
});

test('lines of another form are counted and skipped, empty ones only skipped', () => {
  const map = parse(
    '\n\nname only\n1000\n1000 10\n1000 10 \n1000 xyz name\n11112222333344445 10 long\n 1000 10 a\n2000 10 good\n',
  );
  assert.deepEqual(lines(map), [[0x2000, 0x2010, 'good']]);
  assert.equal(map.damage.count('perf-map-line'), 7);
  assert.equal(map.damage.list()[0]!.firstOffset, 2);
});

test('more lines than the size lets expect', () => {
  const map = parse('1 1 a\n'.repeat(10_000));
  assert.equal(map.count, 10_000);
  assert.deepEqual(lines(map)[9_999], [1, 2, 'a']);
});

test('in pieces of any size it is the same', () => {
  const text = '1000 10 größe\r\n\nname only\n2000 0 b\n3000 8 last';
  const bytes = new TextEncoder().encode(text);
  const whole = parsePerfMap(bytes);
  for (let size = 1; size <= bytes.length; size++) {
    const parser = new PerfMapParser(bytes.length);
    for (let at = 0; at < bytes.length; at += size) parser.push(bytes.slice(at, at + size));
    const map = parser.finish();
    assert.deepEqual(lines(map), lines(whole), `in pieces of ${size}`);
    assert.deepEqual(map.damage.list(), whole.damage.list());
  }
});

test('a name of V8 with a line feed in it goes on in the next line', () => {
  const text = [
    '1000 10 JS:*two lines /app/a.js:1:2',
    '2000 10 JS:^f /app/two',
    '',
    'lines.js:1:16',
    '3000 10 JS:*f has',
    'three',
    'lines.js:7:8',
    'no name any more',
    '4000 10 py::f',
    'no place',
    '5000 10 JS:~last /app/',
    'line.js:1:1',
  ].join('\n');
  const whole = parse(text);
  assert.deepEqual(
    lines(whole).map(([, , name]) => name),
    [
      'JS:*two lines /app/a.js:1:2',
      'JS:^f /app/two lines.js:1:16',
      'JS:*f has three lines.js:7:8',
      'py::f',
      'JS:~last /app/ line.js:1:1',
    ],
  );
  assert.equal(whole.damage.count('perf-map-line'), 2);
  for (let size = 1; size <= text.length; size++) {
    const parser = new PerfMapParser(text.length);
    for (let at = 0; at < text.length; at += size)
      parser.push(new TextEncoder().encode(text.slice(at, at + size)));
    assert.deepEqual(lines(parser.finish()), lines(whole), `in pieces of ${size}`);
  }
});
