import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERBS } from '../main.ts';
import { cacheName, isForScript, marksOf } from './run-kind.ts';

test('verbs that load a module of the user run as modules', () => {
  assert.ok(isForScript(['record', '-F', '99', '--', 'node', 'app.js']));
  for (const words of [
    ['record', '--format', './mine.ts', 'true'],
    ['record', '--format=./mine.ts', 'true'],
    ['flight', '-a', '--fo', 'stacks'],
    ['list', '--json', 'formats', './mine.ts'],
  ])
    assert.ok(!isForScript(words), words.join(' '));
  // Their loops are long.
  for (const words of [['report'], ['pt', 'profile'], [], ['']]) assert.ok(!isForScript(words));
});

test('a report of a small file runs as a script, one of a large file or of a stream does not', () => {
  const sizes: Record<string, number> = { 'small.data': 2000, 'large.data': 5 << 20, main: 10 };
  const isScript = (files: string[], ...words: string[]) =>
    isForScript(['report', ...words], (path) => (files.includes(path) ? sizes[path]! : null));
  const files = ['small.data', 'large.data'];
  for (const words of [
    ['small.data'],
    ['-ismall.data'],
    ['--stdio', '-i', 'small.data'],
    ['--inp=small.data'],
  ])
    assert.ok(isScript(files, ...words), words.join(' '));
  for (const words of [['large.data'], ['-ilarge.data'], ['-i', 'large.data'], ['--input=large.data']])
    assert.ok(!isScript(files, ...words), words.join(' '));
  // The value of another option may be the name of a file, too.
  assert.ok(!isScript([...files, 'main'], '--symbols', 'main', 'large.data'));
  for (const words of [['-i', '-'], ['-i-'], ['--input', 'none.data'], []])
    assert.ok(!isScript(files, ...words), words.join(' '));
  const here = (bytes: number | null) =>
    isForScript(['report', '-n'], (path) => (path === 'perf.data' ? bytes : null));
  assert.deepEqual([here(2000), here(5 << 20), here(null)], [true, false, false]);
});

test('each verb that runs as a script is one', () => {
  const names = VERBS.map(({ name }) => name);
  const asScript = names.filter((name) => isForScript([name]));
  assert.deepEqual(asScript.sort(), [
    'buildid-list',
    'evlist',
    'flight',
    'list',
    'loop',
    'off-cpu',
    'record',
    'stat',
  ]);
});

test('marks are the options, and Node', () => {
  assert.deepEqual(marksOf(['record', '-F99', '--count=5', '-g', '--', 'sleep', '-x']), [
    '-F99',
    '--count',
    '-g',
  ]);
  assert.deepEqual(marksOf(['record', '-g', '-g', '/usr/bin/node', 'app.js']), ['-g', 'node']);
  assert.ok(marksOf(['stat', ...Array.from({ length: 99 }, (_, at) => `-e${at}`)]).length <= 24);
});

test('another version, processor or flag has another file', () => {
  const runtime = { versions: { v8: '11.3' }, arch: 'x64', execArgv: [], env: {} };
  const others = [
    { ...runtime, versions: { v8: '12.4' } },
    { ...runtime, arch: 'arm64' },
    { ...runtime, execArgv: ['--jitless'] },
    { ...runtime, env: { NODE_OPTIONS: '--perf-prof' } },
  ];
  const names = [runtime, ...others].map((one) => cacheName(['record'], one));
  assert.equal(new Set(names).size, names.length);
  assert.equal(names[0], 'record-11.3-x64');
});
