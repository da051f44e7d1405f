import type { Match } from './match.ts';
import type { EventRequirement, PmuModel } from './types.ts';

export const REMEDIES = {
  refused: 'Choose another event; `counterpoint list` shows what this CPU has.',
  tooLarge: 'Split the group, or mark it weak (`}:W`) so that it is split when it does not fit.',
  watchdog: 'Switch off the watchdog while measuring (`sysctl kernel.nmi_watchdog=0`), or use fewer events.',
  pinned: 'Unpin some events (leave out `:D`), or use fewer.',
} as const;

/** Why events cannot be counted together. `nameOf` is null for what the kernel holds. */
export function conflictText(
  model: PmuModel,
  match: Match & { kind: 'counters' | 'register' },
  requirements: readonly EventRequirement[],
  nameOf: (index: number) => string | null,
): string {
  const names = match.events.map(nameOf).filter((name) => name !== null);
  if (match.kind === 'register') {
    const values = match.capacity === 1 ? 'one value' : `${match.capacity} values`;
    return `${listNames(names)} need different values of the ${match.resource} register, which holds ${values} at a time`;
  }
  const total = model.counters.filter(({ kind }) => kind === 'general' || kind === 'fixed').length;
  const needed = sumOf(
    requirements,
    requirements.map((_, index) => index),
  );
  if (needed > total) return `the group needs ${needed} counters, but the PMU has ${total}`;
  const counters = listNames(match.counters.map((counter) => model.counters[counter]!.name));
  const own = sumOf(requirements, match.events);
  const size = match.counters.length;
  if (names.length < match.events.length) {
    const who = names.length === 0 ? 'the group' : namesOf(names);
    return `${who} would need ${counters} too, where ${own} events then had to fit on ${size}`;
  }
  if (size === 1) {
    const both = names.length === 2 ? 'both need' : names.length === 1 ? 'needs' : 'all need';
    return `${namesOf(names)} ${both} counter ${counters}`;
  }
  return `${namesOf(names)} need ${own} of the counters ${counters}, and those are ${size}`;
}

/** How many counters events take at least. */
function sumOf(requirements: readonly EventRequirement[], events: readonly number[]): number {
  return events.reduce(
    (sum, event) => sum + Math.min(...requirements[event]!.places.map(({ length }) => length)),
    0,
  );
}

function namesOf(names: readonly string[]): string {
  if (names.length === 1) return names[0]!;
  return names.length <= 4 ? `events ${listNames(names)}` : `the ${names.length} events ${listNames(names)}`;
}

function listNames(names: readonly string[]): string {
  if (names.length <= 1) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;
}
