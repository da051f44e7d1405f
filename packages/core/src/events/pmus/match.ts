import type { EventRequirement } from './types.ts';

/** Search steps for events that take two counters; enough for every set that fits 31 counters. */
const MOST_STEPS = 200_000;

/**
 * What `matchCounters` found. Events are positions in what it was given, counters
 * positions in `PmuModel.counters`.
 */
export type Match =
  /** Per event the counters it takes. */
  | { readonly kind: 'found'; readonly places: readonly (readonly number[])[] }
  /** These events (no fewer of them) cannot be counted at the same time. */
  | { readonly kind: 'counters'; readonly events: readonly number[]; readonly counters: readonly number[] }
  /** These need different values of one shared register. */
  | {
      readonly kind: 'register';
      readonly events: readonly number[];
      readonly resource: string;
      readonly capacity: number;
    }
  /** The search was given up. */
  | { readonly kind: 'undecided' };

/**
 * Put each event on counters of its own, or say which events are in each other's way. Exact: events that take
 * one counter are matched by augmenting paths (Kuhn), over every way of placing those that take two.
 *
 *   event     A    B    C          A moves over so that C fits:
 *             | \  |    |            A: 1 -> 0
 *   counter   0   1     1            C: 1
 */
export function matchCounters(requirements: readonly EventRequirement[]): Match {
  const register = registerConflict(requirements);
  if (register !== null) return register;
  const steps = { left: MOST_STEPS };
  const found = place(requirements, steps);
  if (found !== null) return { kind: 'found', places: found };
  if (steps.left <= 0) return { kind: 'undecided' };
  return smallestConflict(requirements);
}

/** Whether all can be counted at the same time; false also where the search was given up. */
export function fitTogether(requirements: readonly EventRequirement[]): boolean {
  return registerConflict(requirements) === null && place(requirements, { left: MOST_STEPS }) !== null;
}

function registerConflict(requirements: readonly EventRequirement[]): Match | null {
  const users = new Map<string, { values: Set<bigint>; events: number[]; capacity: number }>();
  for (const [event, { shared }] of requirements.entries()) {
    if (shared === undefined) continue;
    const user = users.get(shared.resource) ?? { values: new Set(), events: [], capacity: shared.capacity };
    users.set(shared.resource, user);
    if (!user.values.has(shared.value)) user.events.push(event);
    user.values.add(shared.value);
  }
  for (const [resource, { values, events, capacity }] of users) {
    if (values.size > capacity) return { kind: 'register', events, resource, capacity };
  }
  return null;
}

/**
 * Leave out every event without which the rest still does not fit: what remains is the reason. Should that
 * search take too long, the reason names more events than it had to.
 */
function smallestConflict(requirements: readonly EventRequirement[]): Match {
  const steps = { left: MOST_STEPS };
  let kept = requirements.map((_, event) => event);
  for (const event of [...kept].reverse()) {
    const without = kept.filter((other) => other !== event);
    const fits = place(
      without.map((other) => requirements[other]!),
      steps,
    );
    if (steps.left <= 0) break;
    if (fits === null) kept = without;
  }
  const counters = new Set(kept.flatMap((event) => requirements[event]!.places.flat()));
  return { kind: 'counters', events: kept, counters: [...counters].sort((a, b) => a - b) };
}

function place(requirements: readonly EventRequirement[], steps: { left: number }): number[][] | null {
  const wide: number[] = [];
  const single: number[] = [];
  for (const [event, { places }] of requirements.entries()) {
    (places.some((counters) => counters.length > 1) ? wide : single).push(event);
  }
  // Events alike stand side by side, so that trying them in both orders can be left out.
  wide.sort((a, b) => (keyOf(requirements[a]!) < keyOf(requirements[b]!) ? -1 : 1));
  const result: number[][] = requirements.map(() => []);
  const taken = new Set<number>();
  return placeWide(0, 0) ? result : null;

  function placeWide(at: number, firstChoice: number): boolean {
    if (--steps.left <= 0) return false;
    if (at === wide.length) return placeSingle();
    const event = wide[at]!;
    const { places } = requirements[event]!;
    for (let choice = firstChoice; choice < places.length; choice++) {
      const counters = places[choice]!;
      if (counters.some((counter) => taken.has(counter))) continue;
      for (const counter of counters) taken.add(counter);
      result[event] = [...counters];
      const next = wide[at + 1];
      const isTwin = next !== undefined && keyOf(requirements[next]!) === keyOf(requirements[event]!);
      if (placeWide(at + 1, isTwin ? choice + 1 : 0)) return true;
      for (const counter of counters) taken.delete(counter);
    }
    return false;
  }

  function placeSingle(): boolean {
    const holder = new Map<number, number>();
    for (const event of single) if (!augment(event, new Set())) return false;
    for (const [counter, event] of holder) result[event] = [counter];
    return true;

    function augment(event: number, seen: Set<number>): boolean {
      steps.left--;
      // A free counter first, in the order of preference; only then is another event asked to move.
      for (const [counter] of requirements[event]!.places as readonly (readonly [number])[]) {
        if (taken.has(counter) || holder.has(counter)) continue;
        holder.set(counter, event);
        return true;
      }
      for (const [counter] of requirements[event]!.places as readonly (readonly [number])[]) {
        if (taken.has(counter) || seen.has(counter)) continue;
        seen.add(counter);
        if (!augment(holder.get(counter)!, seen)) continue;
        holder.set(counter, event);
        return true;
      }
      return false;
    }
  }
}

function keyOf({ places }: EventRequirement): string {
  return places.map((counters) => counters.join('+')).join(' ');
}
