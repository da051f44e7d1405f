/** Comparisons of runs that differ by more than the chance of samples, as runs of real programs do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../profile/tables/index.ts';
import { ExampleBuilder } from '../../test/example-profile.ts';
import { Random } from '../../test/random.ts';
import { type ChangedFunction, type CompareOptions, compareFunctions } from './compare-functions.ts';

/** By the sum of twelve uniform numbers. */
function normal(random: Random): number {
  let sum = -6;
  for (let n = 0; n < 12; n++) sum += random.u32() / 2 ** 32;
  return sum;
}

/** A program: what its functions take, and by how much of that they differ from run to run. */
interface Program {
  readonly shares: readonly number[];
  readonly spreads: readonly number[];
  /** By how much the time of a whole run differs. */
  readonly runSpread: number;
}

/** Forty functions, the first of which takes a third; some differ ten times as much as others. */
function makeProgram(random: Random, spread: number, unevenness = 0.6): Program {
  const shares = Array.from({ length: 40 }, (_, n) => 1 / (n + 1) ** 1.3);
  const sum = shares.reduce((total, share) => total + share, 0);
  return {
    shares: shares.map((share) => share / sum),
    spreads: shares.map(() => spread * Math.exp(unevenness * normal(random))),
    runSpread: 0.03,
  };
}

function runOf({ shares, spreads, runSpread }: Program, random: Random, samples = 1000): Profile {
  const weights = shares.map((share, n) => share * Math.exp(spreads[n]! * normal(random)));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const builder = new ExampleBuilder();
  const event = builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const binary = builder.binary('/bin/app', 'user');
  const thread = builder.thread(1, 1, 'app');
  const stacks = shares.map((_, n) => builder.stack([builder.frame(binary, `f${n}`, BigInt(n))]));
  const count = samples * Math.exp(runSpread * normal(random));
  for (let n = 0; n < count; n++) {
    let left = (random.u32() / 2 ** 32) * sum;
    const row = weights.findIndex((weight) => (left -= weight) <= 0);
    builder.sample({ timeNs: n, thread, stack: stacks[Math.max(0, row)]!, event, weight: 1000, cpu: 0 });
  }
  return builder.profile;
}

/** How many of so many comparisons have what is looked for. */
function countOf(
  comparisons: number,
  [before, after]: readonly [() => Profile[], () => Profile[]],
  options: CompareOptions,
  has: (rows: readonly ChangedFunction[]) => boolean,
): number {
  let found = 0;
  for (let n = 0; n < comparisons; n++) if (has(compareFunctions(before(), after(), options).rows)) found++;
  return found;
}

const isAnyCertain = (rows: readonly ChangedFunction[]) => rows.some(({ isBeyondNoise }) => isBeyondNoise);
const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);

for (const method of ['delta-abs', 'ratio'] as const)
  for (const recordings of [1, 3])
    test(`${method}: of equal runs, ${recordings} a side, few have anything certain`, () => {
      const random = new Random(recordings);
      const program = makeProgram(random, 0.06);
      const side = () => times(recordings, () => runOf(program, random));
      const found = countOf(40, [side, side], { method }, isAnyCertain);
      // One in a hundred is promised.
      assert.ok(found <= 2, `${found} of 40`);
    });

test('runs that differ much more than is usual are measured, and told', () => {
  const random = new Random(3);
  const program = makeProgram(random, 0.2);
  const side = () => times(3, () => runOf(program, random));
  const found = countOf(30, [side, side], {}, isAnyCertain);
  assert.ok(found <= 2, `${found} of 30`);
  const even = makeProgram(random, 0.2, 0);
  const runs = () => times(3, () => runOf(even, random));
  const { rows, isSpreadMeasured } = compareFunctions(runs(), runs());
  const spreads = rows.filter(({ symbol }) => /^f[0-4]$/.test(symbol)).map(({ spread }) => spread);
  assert.ok(isSpreadMeasured && Math.max(...spreads) > 0.15, spreads.join());
});

test('a hot function that takes 20 % more is certain with three recordings a side', () => {
  const random = new Random(7);
  const program = makeProgram(random, 0.02, 0);
  const slower = { ...program, shares: program.shares.map((share, n) => (n === 0 ? 1.2 * share : share)) };
  const sides = [
    () => times(3, () => runOf(program, random, 4000)),
    () => times(3, () => runOf(slower, random, 4000)),
  ] as const;
  const grew = (rows: readonly ChangedFunction[]) =>
    rows.some(({ symbol, low }) => symbol === 'f0' && low > 0);
  const found = countOf(10, sides, {}, grew);
  assert.ok(found >= 8, `${found} of 10`);
});

test('one recording a side tells large changes only, and says so', () => {
  const random = new Random(9);
  const program = makeProgram(random, 0.03);
  const changed = (factor: number) => ({
    ...program,
    shares: program.shares.map((share, n) => (n === 0 ? factor * share : share)),
  });
  const foundOf = (factor: number) =>
    countOf(20, [() => [runOf(program, random)], () => [runOf(changed(factor), random)]], {}, isAnyCertain);
  assert.ok(foundOf(1.15) <= 2);
  assert.ok(foundOf(5) >= 18);
  const { isSpreadMeasured, before, rows } = compareFunctions(runOf(program, random), runOf(program, random));
  assert.equal(isSpreadMeasured, false);
  assert.equal(before.recordings, 1);
  assert.ok(rows.every(({ spread }) => spread === rows[0]!.spread && spread > 0));
});

test('several recordings: shares are means, periods are sums, and a ratio is of one recording', () => {
  const random = new Random(2);
  const program = makeProgram(random, 0.05);
  const [a, b, c] = times(3, () => runOf(program, random)) as [Profile, Profile, Profile];
  const { rows, before, after } = compareFunctions([a, b], c, { method: 'ratio' });
  const alone = (profile: Profile) =>
    compareFunctions(profile, profile).rows.find(({ symbol }) => symbol === 'f0')!;
  const row = rows.find(({ symbol }) => symbol === 'f0')!;
  assert.deepEqual([before.recordings, after.recordings], [2, 1]);
  assert.deepEqual(row.beforeShares, [alone(a).before, alone(b).before]);
  assert.ok(Math.abs(row.before - (alone(a).before + alone(b).before) / 2) < 1e-9);
  assert.equal(Number(row.beforePeriod), Number(alone(a).beforePeriod) + Number(alone(b).beforePeriod));
  assert.ok(Math.abs(row.change! - (2 * Number(row.afterPeriod)) / Number(row.beforePeriod)) < 1e-9);
  assert.equal(before.sumPeriod, String(1000 * before.samples));
  assert.throws(() => compareFunctions([], c), /no recording of before/);
});
