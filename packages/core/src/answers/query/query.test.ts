import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CounterpointError, memorySource } from '../../base/index.ts';
import { openPerfData } from '../../file-formats/perfdata/index.ts';
import { viewJavascript } from '../../profile/javascript/index.ts';
import { NONE, type Profile } from '../../profile/tables/index.ts';
import { ExampleBuilder, smallProfile } from '../../test/example-profile.ts';
import { comm, recording, sample } from '../../test/recordings.ts';
import {
  callTree,
  collectStats,
  parseSortKeys,
  type TopOptions,
  type TopRow,
  topFunctions,
  writeScript,
} from '../index.ts';

/**
 * main > parse > malloc  10, thread 1
 * main > parse           20, thread 1
 * main > sort > parse    30, thread 2
 * (address without name)  40, thread 2
 */
function example(): Profile {
  const builder = new ExampleBuilder();
  builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const app = builder.binary('/bin/app', 'user');
  const libc = builder.binary('/lib/libc.so.6', 'user');
  const main = builder.frame(app, 'main', 0x10n);
  const parse = builder.frame(app, 'parse', 0x20n);
  const parseLater = builder.frame(app, 'parse', 0x28n, 8);
  const sort = builder.frame(app, 'sort', 0x30n);
  const malloc = builder.frame(libc, 'malloc', 0x40n);
  const nameless = builder.frame(libc, null, 0x999n);
  const first = builder.thread(10, 10, 'app');
  const second = builder.thread(10, 11, 'worker');
  builder.sample({ timeNs: 1, thread: first, stack: builder.stack([main, parse, malloc]), weight: 10 });
  builder.sample({ timeNs: 2, thread: first, stack: builder.stack([main, parseLater]), weight: 20 });
  builder.sample({
    timeNs: 3,
    thread: second,
    stack: builder.stack([main, sort, parse]),
    weight: 30,
    cpu: 1,
  });
  builder.sample({ timeNs: 4, thread: second, stack: builder.stack([nameless]), weight: 40 });
  return builder.profile;
}

const brief = (rows: TopRow[], ...keys: (keyof TopRow)[]) => rows.map((row) => keys.map((key) => row[key]));

test('own time by command, binary and function', () => {
  const { rows, samples, sumPeriod } = topFunctions(example());
  assert.equal(samples, 4);
  assert.equal(sumPeriod, '100');
  assert.deepEqual(brief(rows, 'selfPeriod', 'percent', 'comm', 'dso', 'symbol', 'mode', 'samples'), [
    ['40', 40, 'worker', 'libc.so.6', '0x0000000000000999', '.', 1],
    ['30', 30, 'worker', 'app', 'parse', '.', 1],
    ['20', 20, 'app', 'app', 'parse', '.', 1],
    ['10', 10, 'app', 'libc.so.6', 'malloc', '.', 1],
  ]);
});

test('time with callees counts a function once per stack', () => {
  const { rows } = topFunctions(example(), { children: true, sort: ['symbol'] });
  assert.deepEqual(
    brief(rows, 'symbol', 'percent', 'selfPercent'),
    [
      ['main', 60, 0],
      ['parse', 60, 50],
      ['0x0000000000000999', 40, 40],
      ['sort', 30, 0],
      ['malloc', 10, 10],
    ].sort((a, b) => Number(b[1]) - Number(a[1]) || Number(b[2]) - Number(a[2])),
  );
});

test('other sort keys group otherwise', () => {
  assert.deepEqual(brief(topFunctions(example(), { sort: ['dso'] }).rows, 'dso', 'selfPeriod'), [
    ['app', '50'],
    ['libc.so.6', '50'],
  ]);
  assert.deepEqual(
    brief(topFunctions(example(), { sort: ['tid', 'cpu'] }).rows, 'tid', 'cpu', 'selfPeriod'),
    [
      [11, 0, '40'],
      [10, 0, '30'],
      [11, 1, '30'],
    ],
  );
});

test('filters keep shares of the whole', () => {
  const { rows } = topFunctions(example(), { dsos: new Set(['app']), symbols: new Set(['parse']) });
  assert.deepEqual(brief(rows, 'comm', 'percent'), [
    ['worker', 30],
    ['app', 20],
  ]);
});

test('[JIT] is the compiled code of every process', () => {
  const { name } = smallProfile().binaries.find(({ kind }) => kind === 'jit')!;
  const own = { dsos: new Set([name]), sort: ['symbol'] } as const;
  const rows = brief(topFunctions(smallProfile(), own).rows, 'symbol', 'percent');
  assert.ok(rows.length >= 3);
  const all = { ...own, dsos: new Set(['[JIT]']) };
  assert.deepEqual(brief(topFunctions(smallProfile(), all).rows, 'symbol', 'percent'), rows);
});

test('a filter of functions holds whatever rows are told apart by', () => {
  const inLibc = { dsos: new Set(['libc.so.6']) };
  const period = (rows: TopRow[], key: keyof TopRow) => brief(rows, key, 'selfPeriod');
  assert.deepEqual(period(topFunctions(example(), { ...inLibc, sort: ['comm'] }).rows, 'comm'), [
    ['worker', '40'],
    ['app', '10'],
  ]);
  assert.deepEqual(period(topFunctions(example(), { ...inLibc, sort: ['symbol'] }).rows, 'symbol'), [
    ['0x0000000000000999', '40'],
    ['malloc', '10'],
  ]);
  const parse = { symbols: new Set(['parse']) };
  assert.deepEqual(period(topFunctions(example(), { ...parse, sort: ['cpu'] }).rows, 'cpu'), [
    [1, '30'],
    [0, '20'],
  ]);
  const workers = topFunctions(example(), { sort: ['dso'], comms: new Set(['worker']) }).rows;
  assert.deepEqual(period(workers, 'dso'), [
    ['libc.so.6', '40'],
    ['app', '30'],
  ]);
});

test('with callees a filter keeps the samples that have the function anywhere on their stack', () => {
  const { rows } = topFunctions(example(), { children: true, sort: ['comm'], symbols: new Set(['parse']) });
  assert.deepEqual(brief(rows, 'comm', 'percent', 'selfPercent'), [
    ['worker', 30, 30],
    ['app', 30, 20],
  ]);
});

test('sort keys parse with perf’s short forms, and name the known ones', () => {
  assert.deepEqual(parseSortKeys('comm, sym'), ['comm', 'symbol']);
  assert.throws(
    () => parseSortKeys('comm,bogus'),
    (error) => {
      assert.ok(error instanceof CounterpointError);
      assert.match(error.remedy, /comm, dso, symbol/);
      return true;
    },
  );
});

test('the call tree from the roots', () => {
  const { roots } = callTree(example(), { minimumPercent: 0 });
  assert.deepEqual(
    roots.map(({ name, percent }) => [name, percent]),
    [
      ['main', 60],
      ['0x0000000000000999', 40],
    ],
  );
  const main = roots[0]!;
  assert.deepEqual(
    main.children.map(({ name, percent, selfPercent, dso }) => [name, percent, selfPercent, dso]),
    [
      ['parse', 30, 20, 'app'],
      ['sort', 30, 0, 'app'],
    ],
  );
  assert.equal(main.children[0]!.children[0]!.name, 'malloc');
});

test('the call tree to the callers', () => {
  const { roots } = callTree(example(), { direction: 'callers', minimumPercent: 0 });
  const parse = roots.find(({ name }) => name === 'parse')!;
  assert.equal(parse.percent, 50);
  assert.deepEqual(
    parse.children.map(({ name, percent }) => [name, percent]),
    [
      ['sort', 30],
      ['main', 20],
    ],
  );
});

test('a filter makes the functions it names the roots of the call tree', () => {
  const symbols = new Set(['parse']);
  const down = callTree(example(), { symbols, minimumPercent: 0 }).roots;
  assert.deepEqual(
    down.map(({ name, percent, selfPercent, children }) => [name, percent, selfPercent, children.length]),
    [['parse', 60, 50, 1]],
  );
  assert.equal(down[0]!.children[0]!.name, 'malloc');
  const up = callTree(example(), {
    dsos: new Set(['libc.so.6']),
    direction: 'callers',
    minimumPercent: 0,
  }).roots;
  assert.deepEqual(
    up.map(({ name, percent }) => [name, percent]),
    [
      ['0x0000000000000999', 40],
      ['malloc', 10],
    ],
  );
});

test('small branches are left out and counted', () => {
  const { roots, hiddenPercent } = callTree(example(), { minimumPercent: 20 });
  assert.equal(roots[0]!.children[0]!.children.length, 0);
  assert.equal(hiddenPercent, 10);
});

test('self times of all rows add up to the whole, whatever the stacks', () => {
  const stacks = fc.array(
    fc.record({
      frames: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 6 }),
      weight: fc.integer({ min: 0, max: 1000 }),
    }),
    { minLength: 1, maxLength: 40 },
  );
  fc.assert(
    fc.property(stacks, (list) => {
      const builder = new ExampleBuilder();
      builder.event({ name: 'cpu-clock' });
      const app = builder.binary('/bin/app', 'user');
      const thread = builder.thread(1, 1, 'app');
      for (const { frames, weight } of list) {
        const rows = frames.map((index) =>
          builder.frame(app, index < 5 ? `f${index}` : null, BigInt(index * 16)),
        );
        builder.sample({ timeNs: 0, thread, stack: builder.stack(rows), weight });
      }
      const total = list.reduce((sum, { weight }) => sum + weight, 0);
      const { rows } = topFunctions(builder.profile, { children: true });
      assert.equal(
        rows.reduce((sum, row) => sum + Number(row.selfPeriod), 0),
        total,
      );
      // The slow way: a function's total is the weight of all stacks it is on.
      for (const row of rows) {
        const index = row.symbol!.startsWith('f') ? Number(row.symbol!.slice(1)) : Number(row.symbol) / 16;
        const wanted = list
          .filter(({ frames }) => frames.includes(index))
          .reduce((sum, { weight }) => sum + weight, 0);
        assert.equal(row.totalPeriod, String(wanted));
      }
      const tree = callTree(builder.profile, { minimumPercent: 0 });
      assert.ok(Math.abs(tree.roots.reduce((sum, root) => sum + Number(root.period), 0) - total) < 1);
    }),
  );
});

test('samples without a stack have a row of their own', () => {
  const builder = new ExampleBuilder();
  builder.event({ name: 'cpu-clock' });
  builder.sample({ timeNs: 0, thread: builder.thread(1, 1, 'app'), stack: NONE, weight: 5 });
  const { rows } = topFunctions(builder.profile);
  assert.deepEqual(brief(rows, 'symbol', 'dso', 'percent'), [['[no address]', '[unknown]', 100]]);
});

test('the first and last time are exact, however far apart', async () => {
  const times = [2n ** 63n, 1n, 2n ** 64n - 2n, 2n ** 63n - 1n];
  const bytes = recording(times.map((time) => sample({ time })));
  const { firstTimeNs, lastTimeNs } = await collectStats(await openPerfData(memorySource(bytes)));
  assert.deepEqual([firstTimeNs, lastTimeNs], ['1', String(2n ** 64n - 2n)]);
});

test('names of hostile programs are escaped in JSON lines too', async () => {
  const bytes = recording([comm(10, 'a\u009b31m\u202eb'), sample({ time: 1n })]);
  let text = '';
  await writeScript(
    await openPerfData(memorySource(bytes)),
    { symbols: { open: async () => null }, json: true },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  assert.match(text, /a\\u009b31m\\u202eb/);
  assert.equal(JSON.parse(text).comm, 'a\u009b31m\u202eb');
});

test('functions of JavaScript without a file, or a name, stand by their share', () => {
  const builder = new ExampleBuilder();
  builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const jit = builder.binary('/tmp/perf-10.map', 'jit');
  const node = builder.binary('/bin/node', 'user');
  const thread = builder.thread(10, 10, 'node');
  const frames = {
    own: builder.frame(jit, 'JS:own /a.js:1:1', 0x1000n),
    folded: builder.frame(jit, 'JS:emit node:events:1:1', 0x2000n),
    evaluated: builder.frame(jit, 'JS:(anonymous) :1:20', 0x3000n),
    interpreted: builder.frame(node, 'Builtins_InterpreterEntryTrampoline', 0x4000n),
    nameless: builder.frame(jit, null, 0x5000n),
    native: builder.frame(node, 'deflate', 0x6000n),
  };
  const weights = { own: 5, folded: 6, evaluated: 30, interpreted: 20, nameless: 10, native: 29 } as const;
  for (const [name, weight] of Object.entries(weights) as [keyof typeof frames, number][])
    builder.sample({ timeNs: 1, thread, stack: builder.stack([frames[name]]), weight });
  viewJavascript(builder.profile, 'charge');
  const { rows } = topFunctions(builder.profile, {
    sort: ['symbol'],
    javascriptFirst: true,
    isFolded: (file) => file.startsWith('node:'),
  });
  assert.deepEqual(brief(rows, 'symbol', 'percent'), [
    ['JS:(anonymous) :1:20', 30],
    ['(functions without a name)', 20],
    ['[JIT without names]', 10],
    ['JS:own /a.js:1:1', 5],
    ['JS:emit node:events:1:1', 6],
    ['deflate', 29],
  ]);
});

test('a function of JavaScript is one row, however many processes run it', () => {
  const builder = new ExampleBuilder();
  builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  for (const pid of [10, 11]) {
    const jit = builder.binary(`/tmp/perf-${pid}.map`, 'jit');
    const work = builder.frame(jit, 'JS:work /a.js:1:1', 0x1000n);
    const main = builder.frame(jit, 'JS:main /a.js:2:1', 0x2000n);
    const thread = builder.thread(pid, pid, 'node');
    builder.sample({ timeNs: pid, thread, stack: builder.stack([main, work]), weight: 50 });
  }
  const rowsOf = (options: TopOptions) =>
    brief(topFunctions(builder.profile, options).rows, 'symbol', 'percent', 'selfPercent');
  assert.deepEqual(rowsOf({ sort: ['symbol'], javascriptFirst: true, children: true }), [
    ['JS:work /a.js:1:1', 100, 100],
    ['JS:main /a.js:2:1', 100, 0],
  ]);
  // As perf: of each process apart.
  assert.equal(rowsOf({ sort: ['symbol'] }).length, 2);
  assert.equal(rowsOf({ sort: ['pid', 'symbol'], javascriptFirst: true }).length, 2);
});
