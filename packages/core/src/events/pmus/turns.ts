import { fitTogether, matchCounters } from './match.ts';
import type { EventRequirement } from './types.ts';

/** A group that can be counted at all. */
export interface Waiting {
  readonly isPinned: boolean;
  readonly isExclusive: boolean;
  readonly requirements: readonly EventRequirement[];
}

export interface Turns<Group> {
  /** Counters of each event of the group, in its first turn. */
  readonly places: ReadonlyMap<Group, readonly (readonly number[])[]>;
  readonly shares: ReadonlyMap<Group, number>;
  /** Counters of what the kernel holds, in the first turn. */
  readonly held: readonly (readonly number[])[];
}

/** Rounds after which shares are steady enough to be said. */
const MOST_TURNS = 512;

/**
 * The kernel's rotation (kernel/events/core.c), one turn a timer tick: pinned groups always; then the others
 * in line until the first that does not fit; then whoever was counted first goes to the end of the line.
 *
 *   line  [A B C D]  counted: A B   ->  [B C D A]  counted: B C   ->  [C D A B] …
 */
export function takeTurns<Group extends Waiting>(
  kernel: readonly EventRequirement[],
  groups: readonly Group[],
): Turns<Group> {
  const pinned = groups.filter(({ isPinned }) => isPinned);
  const line = groups.filter(({ isPinned }) => !isPinned);
  const places = new Map<Group, readonly (readonly number[])[]>();
  const counts = new Map<Group, number>();
  let held: readonly (readonly number[])[] = [];
  const turns = Math.max(line.length, Math.min(MOST_TURNS, 8 * line.length + 1));
  for (let turn = 0; turn < turns; turn++) {
    const active = chooseActive(kernel, pinned, line);
    const match = matchCounters([...kernel, ...active.flatMap(({ requirements }) => requirements)]);
    if (match.kind !== 'found') break;
    if (turn === 0) held = match.places.slice(0, kernel.length);
    let at = kernel.length;
    for (const group of active) {
      const own = match.places.slice(at, at + group.requirements.length);
      at += group.requirements.length;
      if (!places.has(group)) places.set(group, own);
      counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    const everyone = active.length === groups.length;
    if (everyone) return { places, shares: new Map(groups.map((group) => [group, 1])), held };
    const first = line.findIndex((group) => active.includes(group));
    if (first >= 0) line.push(...line.splice(first, 1));
  }
  return { places, shares: new Map(groups.map((group) => [group, (counts.get(group) ?? 0) / turns])), held };
}

function chooseActive<Group extends Waiting>(
  kernel: readonly EventRequirement[],
  pinned: readonly Group[],
  line: readonly Group[],
): Group[] {
  const active: Group[] = [];
  const requirements = [...kernel];
  for (const candidates of [pinned, line]) {
    let sameClass = 0;
    for (const group of candidates) {
      const isAlone = active.some(({ isExclusive }) => isExclusive) || (group.isExclusive && sameClass > 0);
      const fits = !isAlone && fitTogether([...requirements, ...group.requirements]);
      if (!fits && !group.isPinned) break;
      if (!fits) continue;
      requirements.push(...group.requirements);
      active.push(group);
      sameClass++;
    }
  }
  return active;
}
