import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../profile/index.ts';
import { ExampleBuilder } from '../test/example-profile.ts';
import { Random } from '../test/random.ts';
import { compareFunctions } from './compare-functions.ts';
import { deviationsOf, scoreInterval, shareDifference } from './share-interval.ts';

const close = (actual: number, expected: number, within: number) =>
  assert.ok(Math.abs(actual - expected) < within, `${actual}, not ${expected}`);

test('the interval of a difference is that of the published example', () => {
  // Newcombe 1998, table II, example (a), method 10: 56/70 against 48/80.
  const { difference, low, high } = shareDifference(
    { share: 48 / 80, samples: 80 },
    { share: 56 / 70, samples: 70 },
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
  const before = profileOf({ steady: 500, gone: 200, grows: 300 });
  const after = profileOf({ steady: 500, grows: 380, comes: 120 });
  const { rows } = compareFunctions(before, after);
  assert.deepEqual(
    rows.map(({ symbol, before, after, isBeyondNoise }) => [symbol, before, after, isBeyondNoise]),
    [
      ['gone', 20, 0, true],
      ['comes', 0, 12, true],
      ['grows', 30, 38, true],
      ['steady', 50, 50, false],
    ],
  );
  for (const { change, low, high } of rows) assert.ok(low <= change && change <= high);
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
  // Five of a hundred are expected at most.
  assert.ok(found <= 12, `${found} of 100`);
});

test('events that differ cannot be compared', () => {
  const other = new ExampleBuilder();
  other.event({ name: 'faults', samples: 1 });
  assert.throws(() => compareFunctions(profileOf({ f: 1 }), other.profile), /after has no event "cpu-clock"/);
});
