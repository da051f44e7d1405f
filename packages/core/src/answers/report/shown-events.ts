import { CounterpointError, didYouMean, nearestNames } from '../../base/index.ts';
import type { EventGroup } from '../../file-formats/perfdata/index.ts';
import type { Profile } from '../../profile/tables/index.ts';

/** Events with samples, or the one that is asked for, by their place in the profile. */
export function shownEvents(profile: Profile, name: string | undefined): number[] {
  const indices = profile.events
    .map((_, index) => index)
    .filter((index) => profile.events[index]!.samples > 0);
  if (name === undefined) return indices;
  const found = profile.events.findIndex((event) => event.name === name);
  if (found >= 0) return [found];
  const names = profile.events.map((event) => event.name);
  throw new CounterpointError(
    'ERR_NO_SUCH_EVENT',
    `the recording has no event "${name}"${didYouMean(nearestNames(name, names))}`,
    `It has: ${names.join(', ')}`,
  );
}

/**
 * Which events are shown together: those that were recorded as a group; if none were, all of them, as in
 * perf. `wanted` are the events to show, by their place among all.
 */
export function togetherShown(groups: readonly EventGroup[], wanted: readonly number[]): number[][] {
  if (groups.length === 0) return wanted.length === 0 ? [] : [[...wanted]];
  const leaderOf = (event: number) =>
    groups.find(({ leaderIndex, memberCount }) => event >= leaderIndex && event < leaderIndex + memberCount)
      ?.leaderIndex ?? event;
  const byLeader = new Map<number, number[]>();
  for (const event of wanted) {
    const leader = leaderOf(event);
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), event]);
  }
  return [...byLeader.values()];
}
