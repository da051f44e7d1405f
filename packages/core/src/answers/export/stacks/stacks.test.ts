import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NONE, type Profile } from '../../../profile/tables/index.ts';
import { bigProfile, smallProfile } from '../../../test/example-profile.ts';
import { planExport } from '../options.ts';
import { buildCommTree, type CommTree, childLists } from './comm-tree.ts';
import { type FrameLabels, labelFrames } from './frame-labels.ts';
import { buildLabelTree } from './label-tree.ts';
import { groupSamples } from './sample-groups.ts';

/** The slow way: a path of labels per sample, counted in a map. */
function slowCounts(profile: Profile, { labels, ofFrame }: FrameLabels, event: number): Map<string, number> {
  const counts = new Map<string, number>();
  const { samples, stacks, strings } = profile;
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) !== event) continue;
    const path: string[] = [];
    for (let row = samples.stack.at(sample); row !== NONE; row = stacks.prefix.at(row)) {
      const label = ofFrame[stacks.frame.at(row)]!;
      path.unshift(`${label}=${labels[label]!.text}`);
    }
    const key = [strings.get(samples.comm.at(sample)), ...path].join(';');
    counts.set(key, (counts.get(key) ?? 0) + samples.count.at(sample));
  }
  return counts;
}

function treeCounts(profile: Profile, tree: CommTree, { labels }: FrameLabels): Map<string, number> {
  const counts = new Map<string, number>();
  for (let row = 0; row < tree.length; row++) {
    if (tree.selfSamples[row] === 0) continue;
    const path: string[] = [];
    for (let at = row; at !== NONE; at = tree.parent[at]!) {
      const label = tree.label[at]!;
      path.unshift(label < 0 ? profile.strings.get(-1 - label) : `${label}=${labels[label]!.text}`);
    }
    assert.ok(!counts.has(path.join(';')), 'two rows with the same path');
    counts.set(path.join(';'), tree.selfSamples[row]!);
  }
  return counts;
}

for (const [name, profile] of [
  ['the small profile', smallProfile()],
  ['10,000 samples of 3,000 stacks', bigProfile(10_000, 3000)],
] as const) {
  test(`the tree by command counts what a walk over all samples counts: ${name}`, () => {
    const labels = labelFrames(profile);
    for (const event of profile.events.keys()) {
      const plan = planExport(profile, { event }, 'period');
      const tree = buildCommTree(profile, plan, buildLabelTree(profile, labels.ofFrame));
      assert.deepEqual(treeCounts(profile, tree, labels), slowCounts(profile, labels, event));
      for (let row = 0; row < tree.length; row++) assert.ok(tree.parent[row]! < row);
    }
  });
}

test('a frame is labelled by its function, its mode and its kind of code', () => {
  const profile = smallProfile();
  const { labels } = labelFrames(profile);
  const familyOf = (text: string) =>
    labels.filter((label) => label.text === text).map((label) => label.family);
  assert.deepEqual(familyOf('node::Start(int, char**)'), ['native']);
  assert.deepEqual(familyOf('vfs_read'), ['kernel']);
  assert.deepEqual(familyOf('JS:*fib /app/demo.js:3:13'), ['script']);
  assert.deepEqual(familyOf('Builtin:ArrayPrototypeSort'), ['jit']);
  assert.deepEqual(familyOf('v8::internal::Heap::Size() (inlined)'), ['inlined']);
  assert.deepEqual(familyOf('[node]'), ['unknown']);
});

test('groups hold every sample of the event once, in time order, also where the table is not sorted', () => {
  const profile = smallProfile();
  const { samples } = profile;
  samples.timeNs.data[3] = 1e12;
  samples.timeNs.data[4] = Number.NaN;
  const groups = groupSamples(profile, 0, (sample) => samples.thread.at(sample));
  assert.equal(groups.order.length, profile.events[0]!.samples);
  assert.equal(new Set(groups.order).size, groups.order.length);
  for (const group of groups.keys.keys()) {
    const order = [...groups.order.subarray(groups.start[group]!, groups.start[group + 1]!)];
    assert.ok(order.every((sample) => samples.thread.at(sample) === groups.keys[group]));
    const times = order.map((sample) => samples.timeNs.at(sample)).filter((time) => !Number.isNaN(time));
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    );
  }
});

test('children are listed under their parents in the order asked for', () => {
  const parent = Int32Array.of(NONE, 0, 0, NONE, 1, 0);
  const { start, list } = childLists(parent, (a, b) => b - a);
  const of = (row: number) => [...list.subarray(start[row + 1]!, start[row + 2]!)];
  assert.deepEqual([of(NONE), of(0), of(1), of(2)], [[3, 0], [5, 2, 1], [4], []]);
});
