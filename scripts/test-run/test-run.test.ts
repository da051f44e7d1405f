import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimates, filesByWords, longestFirst, quickestFiles, testsBeside } from './files.ts';
import { dependentsOf, importsOf } from './import-graph.ts';
import { parseOptions } from './options.ts';
import { formatSeconds, mergeSeconds, parseSeconds } from './seconds.ts';
import { checkSkips, needlessSkips, parseAllowedSkips } from './skips.ts';

test('words choose files, flags how they run', () => {
  assert.deepEqual(parseOptions(['--fast', 'ring']), {
    words: ['ring'],
    fast: true,
    watch: false,
    fuzzSeconds: null,
    checkSkips: false,
    saveSeconds: false,
    unmeasured: false,
    noSecondTry: false,
  });
  assert.deepEqual(parseOptions(['--fuzz', '5', 'elf']).words, ['elf']);
  assert.equal(parseOptions(['--fuzz', '5', 'elf']).fuzzSeconds, '5');
  assert.throws(() => parseOptions(['--quick']), /There is no option --quick/);
  const { saveSeconds, unmeasured } = parseOptions(['--save-seconds', '--unmeasured']);
  assert.deepEqual([saveSeconds, unmeasured], [true, true]);
  assert.deepEqual(filesByWords(['a/ring.test.ts', 'b.test.ts'], ['ring']), ['a/ring.test.ts']);
});

test('a run of some files leaves what is known of the others, and forgets files that are gone', () => {
  const known = new Map([
    ['a.test.ts', 1],
    ['b.test.ts', 2],
    ['gone.test.ts', 3],
  ]);
  const merged = mergeSeconds(known, new Map([['b.test.ts', 5]]), (path) => path !== 'gone.test.ts');
  assert.deepEqual(
    [...merged],
    [
      ['a.test.ts', 1],
      ['b.test.ts', 5],
    ],
  );
});

test('a path may be as a shell completes it; who names a source is told of its tests', () => {
  assert.deepEqual(parseOptions(['./scripts/glob.ts']).words, ['scripts/glob.ts']);
  assert.deepEqual(parseOptions([`${process.cwd()}/scripts/glob.ts`]).words, ['scripts/glob.ts']);
  const files = ['a/one.test.ts', 'a/two.test.ts', 'a/b/three.test.ts'];
  assert.deepEqual(testsBeside(files, ['a/source.ts']), ['a/one.test.ts', 'a/two.test.ts']);
  assert.deepEqual(testsBeside(files, ['source']), []);
});

test('a change concerns what imports it, in its package and in others', () => {
  const imports = importsOf(
    'packages/core/src/a/b.ts',
    `import type { T } from './types.ts';
import { x } from '../x.ts';
export * from '@counterpoint/trace/perf';
import {
  y,
} from 'counterpoint';
const late = await import('./late.ts');
new Worker(new URL('./worker.ts', import.meta.url));
import fs from 'node:fs';`,
  );
  assert.deepEqual(imports, [
    'packages/core/src/x.ts',
    'packages/trace/src/entries/perf.ts',
    'packages/node/src/entries/index.ts',
    'packages/core/src/a/late.ts',
    'packages/core/src/a/worker.ts',
  ]);
  const texts = new Map([
    ['a/a.test.ts', "import './b.ts'"],
    ['a/b.ts', "import './c.ts'"],
    ['a/c.ts', "import './b.ts'"],
    ['a/d.test.ts', "import './e.ts'"],
  ]);
  assert.deepEqual([...dependentsOf(['a/c.ts'], texts)].sort(), ['a/a.test.ts', 'a/b.ts', 'a/c.ts']);
  assert.deepEqual([...dependentsOf(['a/e.ts'], texts)], ['a/e.ts', 'a/d.test.ts']);
});

test('a fast run has the quickest files that fit', () => {
  const table = parseSeconds('# x\n60.0\tslow.test.ts\n35.0\tb.test.ts\n40.0\ta.test.ts\nnonsense\n');
  assert.deepEqual([...table.keys()], ['slow.test.ts', 'b.test.ts', 'a.test.ts']);
  const files = [...table.keys(), 'new.test.ts'];
  assert.deepEqual(quickestFiles(files, table), ['b.test.ts', 'a.test.ts']);
  assert.deepEqual(longestFirst(files, table), ['slow.test.ts', 'new.test.ts', 'a.test.ts', 'b.test.ts']);
  assert.deepEqual(parseSeconds(formatSeconds(table)), new Map([...table].sort()));
});

test('a file that nobody has measured takes as long as its neighbours, and is not quick', () => {
  const measured = new Map([
    ...[1, 2, 3].map((at) => [`quick/${at}.test.ts`, 0.5] as const),
    ...[1, 2, 3].map((at) => [`slow/${at}.test.ts`, 20] as const),
    ['slow/deep/4.test.ts', 60] as const,
  ]);
  const news = (folder: string) => Array.from({ length: 60 }, (_, at) => `${folder}/new${at}.test.ts`);
  const files = [
    ...news('quick'),
    ...measured.keys(),
    ...news('slow'),
    ...news('slow/deep'),
    'other/a.test.ts',
  ];
  const seconds = estimates(files, measured);
  assert.deepEqual(
    ['quick/new1.test.ts', 'slow/new1.test.ts', 'slow/deep/new1.test.ts'].map((path) => seconds.get(path)),
    [0.5, 30, 30],
  );
  // Of a folder without measured files, what is usual in all.
  assert.equal(seconds.get('other/a.test.ts'), (3 * 0.5 + 3 * 20 + 60) / 7);
  assert.equal(estimates(['a.test.ts'], new Map()).get('a.test.ts'), 2);
  // Each may take half a minute.
  assert.deepEqual(quickestFiles(files, measured), [...measured.keys()].slice(0, 6));
});

test('a skip that the list does not have is a problem; a line that nothing needs is told', () => {
  const allowed = parseAllowedSkips('# list\n2\tno counters\tthe machine is virtual\n');
  const skips = (count: number, reason = 'no counters') => [
    { reason, tests: Array.from({ length: count }, (_, at) => `a.test.ts: ${at}`) },
  ];
  assert.deepEqual(checkSkips(skips(2), allowed), []);
  assert.match(checkSkips(skips(3), allowed).join('\n'), /3 tests .* allows 2:\n {2}a\.test\.ts: 0/);
  assert.deepEqual(checkSkips(skips(1), allowed), []);
  assert.match(needlessSkips(skips(1), allowed).join('\n'), /allows 2 .* were 1\./);
  assert.deepEqual(needlessSkips(skips(2), allowed), []);
  assert.match(checkSkips([...skips(2), ...skips(1, 'no lcov')], allowed)[0]!, /"no lcov".* allows 0/);
  assert.throws(() => parseAllowedSkips('no counters'), /skips\.tsv/);
});
