import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../profile/tables/index.ts';
import { ExampleBuilder } from '../../test/example-profile.ts';
import { Random } from '../../test/random.ts';
import { compareFunctions } from './compare-functions.ts';
import { deviationsOf, scoreInterval, shareDifference } from './share-interval.ts';
import { studentDeviationsOf } from './student-t.ts';

const close = (actual: number, expected: number, within: number) =>
  assert.ok(Math.abs(actual - expected) < within, `${actual}, not ${expected}`);

test('the interval of a difference is that of the published example', () => {
  // Newcombe 1998, table II, example (a), method 10: 56/70 against 48/80.
  const { difference, low, high } = shareDifference(
    { share: 48 / 80, samples: 80, runWidth: 0 },
    { share: 56 / 70, samples: 70, runWidth: 0 },
    1.959964,
  );
  close(difference, 0.2, 1e-12);
  close(low, 0.0524, 5e-5);
  close(high, 0.3339, 5e-5);
});

test("Wilson's interval: published values, and the ends", () => {
  // Newcombe 1998 (on single proportions), table I, method 3: 81/263 and 0/20.
  const [low, high] = scoreInterval({ share: 81 / 263, samples: 263 }, 1.959964);
  close(low, 0.2553, 5e-5);
  close(high, 0.3662, 5e-5);
  const [none, most] = scoreInterval({ share: 0, samples: 20 }, 1.959964);
  assert.equal(none, 0);
  close(most, 0.1611, 5e-5);
  assert.deepEqual(scoreInterval({ share: 0, samples: 0 }, 2), [0, 1]);
});

test('deviations of a normal variable are those of tables', () => {
  for (const [probability, expected] of [
    [0.5, 0.6745],
    [0.95, 1.96],
    [0.99, 2.5758],
    [0.9973002, 3],
    [0.999, 3.2905],
    [1 - 1e-6, 4.8916],
    [1 - 1e-9, 6.1094],
  ] as const)
    close(deviationsOf(probability), expected, 1e-4);
});

test("deviations of Student's t are those of tables", () => {
  for (const [probability, degrees, expected] of [
    [0.5, 1, 1],
    [0.95, 1, 12.706],
    [0.95, 4, 2.7764],
    [0.99, 4, 4.6041],
    [0.999, 8, 5.0413],
    [0.99, 30, 2.75],
    [0.95, 1e6, 1.96],
    [0.999, 4, 8.6103],
  ] as const)
    close(studentDeviationsOf(probability, degrees), expected, 1e-3);
});

/** Samples by function. */
function profileOf(counts: Readonly<Record<string, number>>, jitPid = 0): Profile {
  const builder = new ExampleBuilder();
  const event = builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const binary =
    jitPid === 0 ? builder.binary('/bin/app', 'user') : builder.binary(`/tmp/[JIT] tid ${jitPid}`, 'jit');
  const thread = builder.thread(1, 1, 'app');
  for (const [name, count] of Object.entries(counts)) {
    const stack = builder.stack([builder.frame(binary, name, BigInt(name.length))]);
    for (let n = 0; n < count; n++) builder.sample({ timeNs: n, thread, stack, event, weight: 1, cpu: 0 });
  }
  return builder.profile;
}

test('functions that came, went, grew and stayed', () => {
  const before = [3, 0, -3].map((n) => profileOf({ steady: 500 + n, gone: 200 + n, grows: 300 - 2 * n }));
  const after = [2, 0, -2].map((n) => profileOf({ steady: 500 - n, grows: 380 + n, comes: 120 }));
  const { rows } = compareFunctions(before, after);
  assert.deepEqual(
    rows.map(({ symbol, before, after, isBeyondNoise }) => [
      symbol,
      Math.round(before),
      Math.round(after),
      isBeyondNoise,
    ]),
    [
      ['gone', 20, 0, true],
      ['comes', 0, 12, true],
      ['grows', 30, 38, true],
      ['steady', 50, 50, false],
    ],
  );
  for (const { change, low, high } of rows) assert.ok(low <= change! && change! <= high!);
});

test('the same function of two runs of a JIT compiler is one', () => {
  const { rows } = compareFunctions(
    profileOf({ 'JS:f /a.js:1:1': 10 }, 7),
    profileOf({ 'JS:f /a.js:1:1': 10 }, 8),
  );
  assert.deepEqual(
    rows.map(({ before, after, dso }) => [before, after, dso]),
    [[100, 100, '']],
  );
});

test('of equal programs few comparisons find a change', () => {
  const random = new Random(11);
  const draw = () => {
    const counts: Record<string, number> = {};
    for (let n = 0; n < 1000; n++) {
      // Fifty functions, some of them rare.
      const name = `f${Math.floor(50 * (random.below(1000) / 1000) ** 2)}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return profileOf(counts);
  };
  let found = 0;
  for (let n = 0; n < 100; n++)
    if (compareFunctions(draw(), draw()).rows.some(({ isBeyondNoise }) => isBeyondNoise)) found++;
  // One of a hundred is expected at most.
  assert.ok(found <= 3, `${found} of 100`);
});

/** Samples of two functions with weights of their own. */
function drawn(random: Random, share: number, samples: number, weightOf: () => number): Profile {
  const builder = new ExampleBuilder();
  const event = builder.event({ name: 'cycles', unit: 'cycles' });
  const binary = builder.binary('/bin/app', 'user');
  const thread = builder.thread(1, 1, 'app');
  const stacks = ['f', 'rest'].map((name, n) => builder.stack([builder.frame(binary, name, BigInt(n))]));
  for (let n = 0; n < samples; n++) {
    const stack = stacks[random.below(1_000_000) < share * 1_000_000 ? 0 : 1]!;
    builder.sample({ timeNs: n, thread, stack, event, weight: weightOf(), cpu: 0 });
  }
  return builder.profile;
}

for (const [method, truth] of [
  ['delta', 12],
  ['ratio', (800 * 0.42) / (1000 * 0.3)],
  ['wdiff', 3 * 800 * 0.42 - 2 * 1000 * 0.3],
] as const)
  test(`ranges of ${method} hold the true change in 95 of 100 recordings or more`, () => {
    const random = new Random(5);
    let held = 0;
    for (let n = 0; n < 100; n++) {
      const [before, after] = [drawn(random, 0.3, 1000, () => 1), drawn(random, 0.42, 800, () => 1)];
      const { rows } = compareFunctions(before, after, { method, weights: [2, 3] });
      const row = rows.find(({ symbol }) => symbol === 'f')!;
      if (row.low <= truth && truth <= row.high!) held++;
    }
    assert.ok(held >= 95, `${held} of 100`);
  });

test('samples that weigh much make a range wider, so that equal programs stay equal', () => {
  const random = new Random(9);
  // One sample in twenty stands for as much as fifty others.
  const weightOf = () => (random.below(20) === 0 ? 50 : 1);
  for (const method of ['delta', 'ratio', 'wdiff'] as const) {
    let found = 0;
    for (let n = 0; n < 60; n++) {
      const [before, after] = [drawn(random, 0.3, 1000, weightOf), drawn(random, 0.3, 1000, weightOf)];
      const { rows } = compareFunctions(before, after, { method });
      if (rows.some(({ isBeyondNoise }) => isBeyondNoise)) found++;
    }
    // By the number of samples alone it would be every second one.
    assert.ok(found <= 3, `${method}: ${found} of 60`);
  }
});

test('what is new has no ratio, but may be certain to have grown', () => {
  const { rows } = compareFunctions(profileOf({ old: 500 }), profileOf({ old: 400, fresh: 100 }), {
    method: 'ratio',
  });
  const fresh = rows.find(({ symbol }) => symbol === 'fresh')!;
  assert.equal(fresh.change, null);
  assert.equal(fresh.high, null);
  assert.ok(fresh.low > 1 && fresh.isBeyondNoise);
});

test('rows by binary and command, ordered by the change itself', () => {
  const { rows, sort } = compareFunctions(
    profileOf({ a: 960, b: 20, c: 20 }),
    profileOf({ a: 100, b: 600, c: 300 }),
    { sort: ['symbol'], method: 'delta' },
  );
  assert.deepEqual(
    rows.map(({ symbol, dso }) => [symbol, dso]),
    [
      ['b', ''],
      ['c', ''],
      ['a', ''],
    ],
  );
  assert.deepEqual(sort, ['symbol']);
  const byBinary = compareFunctions(profileOf({ a: 5, b: 3 }), profileOf({ a: 2 }), {
    sort: ['dso', 'comm'],
  });
  assert.deepEqual(
    byBinary.rows.map(({ symbol, dso, labels, before, after }) => [symbol, dso, labels, before, after]),
    [['', 'app', { comm: 'app' }, 100, 100]],
  );
});

test('ranges of several comparisons hold for all of them', () => {
  const [before, after] = [profileOf({ f: 300, g: 700 }), profileOf({ f: 340, g: 660 })];
  const width = (comparisons: number) => {
    const { rows } = compareFunctions(before, after, { comparisons });
    return rows[0]!.high! - rows[0]!.low;
  };
  assert.ok(width(10) > 1.15 * width(1));
});

test('events that differ cannot be compared', () => {
  const other = new ExampleBuilder();
  other.event({ name: 'faults', samples: 1 });
  assert.throws(() => compareFunctions(profileOf({ f: 1 }), other.profile), /after has no event "cpu-clock"/);
});
