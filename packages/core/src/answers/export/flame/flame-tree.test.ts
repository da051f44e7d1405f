import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../../profile/tables/index.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { planExport } from '../options.ts';
import { totals } from './boxes.ts';
import { buildFlameTree, type FlameTree } from './flame-tree.ts';

function treeOf(profile: Profile, minimumPercent?: number): FlameTree {
  return buildFlameTree(profile, planExport(profile, {}, 'period'), minimumPercent);
}

test('the boxes of the small profile', () => {
  const tree = treeOf(smallProfile());
  const total = totals(tree.depth, tree.selfWeight, tree.hiddenWeight);
  const lines = tree.label.slice(0, 9).map((label, row) => {
    const { name, place, tier } = tree.labels[label]!;
    return `${' '.repeat(tree.depth[row]!)}${name} ${place}${tier} ${total[row]! / 250_000}`;
  });
  assert.deepEqual(lines, [
    'all  121',
    ' node  110',
    '  __libc_start_main  110',
    '   node::Start(int, char**)  110',
    '    run /app/demo.js:40:14~ 90',
    '     fib /app/demo.js:3:13* 52',
    '      fib /app/demo.js:3:13* 52',
    '       fib /app/demo.js:3:13* 40',
    '     sort words /app/lib/sort text.js:10:5^ 25',
  ]);
  assert.equal(tree.hiddenFrames, 0);
  assert.equal(tree.totalSamples, 121);
});

const random = bigProfile(20_000, 5000);

for (const minimumPercent of [0, 0.05, 1, 40, 100]) {
  test(`folding what is below ${minimumPercent}% keeps all weight and every wider box`, () => {
    const whole = treeOf(random, 0);
    const tree = treeOf(random, minimumPercent);
    const total = totals(tree.depth, tree.selfWeight, tree.hiddenWeight);
    const samples = totals(tree.depth, tree.selfSamples, tree.hiddenSamples);
    assert.equal(total[0], 20_000 * 250_000);
    assert.equal(samples[0], 20_000);
    assert.ok(total.every((weight) => weight >= (minimumPercent / 100) * total[0]!));
    const wide = totals(whole.depth, whole.selfWeight, whole.hiddenWeight).filter(
      (weight) => weight >= (minimumPercent / 100) * total[0]!,
    );
    assert.equal(total.length, wide.length);
    assert.equal(tree.hiddenFrames, whole.label.length - tree.label.length);
  });
}

test('without a limit, the file has the widest 40,000 boxes at most', () => {
  const profile = bigProfile(60_000, 30_000);
  const tree = treeOf(profile);
  assert.ok(tree.label.length <= 40_001 && tree.label.length > 1000, String(tree.label.length));
  assert.ok(tree.hiddenFrames > 0 && tree.limit > 0);
  const total = totals(tree.depth, tree.selfWeight, tree.hiddenWeight);
  assert.equal(total[0], 60_000 * 250_000);
});

test('a chain deeper than any call stack of ours, and no samples at all', () => {
  const profile = smallProfile();
  const frame = profile.stacks.frame.at(0);
  let row = -1;
  for (let depth = 0; depth < 20_000; depth++) {
    profile.stacks.prefix.push(row);
    row = profile.stacks.frame.push(frame);
  }
  profile.samples.stack.data[0] = row;
  const tree = treeOf(profile);
  assert.equal(tree.maxDepth, 20_001);
  const empty = treeOf(profile, 0);
  assert.equal(empty.totalSamples, 121);
  profile.samples.event.data.fill(1);
  assert.equal(treeOf(profile).label.length, 1);
});

test('names are made visible and cut', () => {
  for (const { name, binary } of treeOf(hostileProfile()).labels) {
    assert.ok(name.length <= 2001);
    assert.doesNotMatch(name + binary, /[\u0000-\u001f\ufffe\uffff]/);
  }
});
