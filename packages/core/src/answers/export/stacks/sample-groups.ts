import type { Profile } from '../../../profile/tables/index.ts';

/** Rows of `Profile.samples` of one event, grouped by a key, in time order within each group. */
export interface SampleGroups {
  /** Sample rows; group `g` is `order[start[g]] … order[start[g + 1] - 1]`. */
  order: Int32Array;
  start: Int32Array;
  /** Key of each group, in order of first appearance. */
  keys: number[];
}

/** Counting sort: two passes over the samples. `keyOf` may give any whole number. */
export function groupSamples(
  profile: Profile,
  event: number,
  keyOf: (sample: number) => number,
): SampleGroups {
  const { samples } = profile;
  const groupOfKey = new Map<number, number>();
  const keys: number[] = [];
  const counts: number[] = [];
  const groupOf = new Int32Array(samples.length).fill(-1);
  let lastKey = Number.NaN;
  let lastGroup = -1;
  for (let sample = 0; sample < samples.length; sample++) {
    if (samples.event.at(sample) !== event) continue;
    const key = keyOf(sample);
    if (key !== lastKey) {
      lastKey = key;
      lastGroup = groupOfKey.get(key) ?? -1;
      if (lastGroup < 0) {
        lastGroup = keys.push(key) - 1;
        counts.push(0);
        groupOfKey.set(key, lastGroup);
      }
    }
    groupOf[sample] = lastGroup;
    counts[lastGroup]!++;
  }
  const start = new Int32Array(keys.length + 1);
  for (let group = 0; group < keys.length; group++) start[group + 1] = start[group]! + counts[group]!;
  const order = new Int32Array(start[keys.length]!);
  const next = start.slice();
  for (let sample = 0; sample < samples.length; sample++) {
    const group = groupOf[sample]!;
    if (group >= 0) order[next[group]!++] = sample;
  }
  sortByTime(profile, order, start);
  return { order, start, keys };
}

/**
 * Samples arrive in time order from a sorted recording; a group that is not is sorted
 * here, samples without time first.
 */
function sortByTime(profile: Profile, order: Int32Array, start: Int32Array): void {
  const time = profile.samples.timeNs.view();
  for (let group = 0; group + 1 < start.length; group++) {
    const from = start[group]!;
    const to = start[group + 1]!;
    for (let at = from + 1; at < to; at++) {
      if (time[order[at]!]! < time[order[at - 1]!]!) {
        const at = (sample: number) => (Number.isNaN(time[sample]!) ? -1 : time[sample]!);
        order.subarray(from, to).sort((a, b) => at(a) - at(b) || a - b);
        break;
      }
    }
  }
}
