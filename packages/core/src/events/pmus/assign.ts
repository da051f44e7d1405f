import { conflictText, REMEDIES } from './conflict-text.ts';
import { type Match, matchCounters } from './match.ts';
import { type CountedAttr, type Need, needOf } from './requirement.ts';
import { takeTurns } from './turns.ts';
import type { CounterDescription, EventRequirement, PmuModel } from './types.ts';

/** An event to be counted. `ParsedEvent` of the room `names` is one. */
export interface PlannedEvent {
  /** For reasons and remedies. */
  readonly name: string;
  /** Which event it is. */
  readonly attr: CountedAttr;
  /** Events in a row with the same number are a group; `null` stands alone. */
  readonly group: number | null;
}

/** Where an event will be counted, or why it will not be. */
export type EventPlacement =
  /** On these counters (positions in `PmuModel.counters`) in the first turn that its group has. */
  | { readonly kind: 'counter'; readonly counters: readonly number[] }
  | { readonly kind: 'software' }
  | { readonly kind: 'other-pmu' }
  | { readonly kind: 'unschedulable'; readonly reason: string; readonly remedy: string }
  /** The search for a place was given up; the kernel will know. */
  | { readonly kind: 'undecided' };

/** Events that are counted at the same time, or not at all. */
export interface PlannedGroup {
  /** Positions of its events, the leader first. */
  readonly events: readonly number[];
  /** Its leader is pinned (`:D`): it comes before others, and is never taken off. */
  readonly isPinned: boolean;
  /** Its leader is exclusive (`:e`): no other group is counted beside it. */
  readonly isExclusive: boolean;
  /** Share of the time that it is counted, 0 to 1, while nobody else uses the PMU. */
  readonly share: number;
}

/** What `assignCounters` found. */
export interface CounterPlan {
  /** A place for each event, in the order they were given. */
  readonly events: readonly EventPlacement[];
  /** Groups and single events, in the order they were given. */
  readonly groups: readonly PlannedGroup[];
  /** Counters that the kernel itself holds: the NMI watchdog's. */
  readonly held: readonly { readonly holder: string; readonly counters: readonly number[] }[];
  /** What the model had to assume (`PmuModel.notes`). */
  readonly notes: readonly string[];
}

interface Group {
  readonly events: readonly number[];
  readonly isPinned: boolean;
  readonly isExclusive: boolean;
  /** Requirements of those events that need a counter of this PMU, and who they are. */
  readonly requirements: readonly EventRequirement[];
  readonly counted: readonly number[];
  failure: { kind: 'unschedulable'; reason: string; remedy: string } | { kind: 'undecided' } | null;
}

const WATCHDOG = 'the NMI watchdog';

/**
 * Which counter each event will be on, as the kernel would schedule them on an otherwise idle PMU:
 * pinned groups first, then the others in turns, each group whole or not at all. A group that
 * never can be counted says why.
 */
export function assignCounters(model: PmuModel, events: readonly PlannedEvent[]): CounterPlan {
  const needs = events.map(({ attr }) => needOf(model, attr));
  const groups = groupEvents(events, needs);
  const watchdog =
    model.watchdog === null ? [] : [model.requirementOf({ config: model.watchdog, config1: 0n })];

  for (const group of groups) refuseImpossible(model, events, needs, group);
  const pinned: EventRequirement[] = [...watchdog];
  for (const group of groups.filter(({ isPinned }) => isPinned)) {
    fitBeside(model, events, group, watchdog, pinned);
    if (group.failure === null) pinned.push(...group.requirements);
  }
  for (const group of groups.filter(({ isPinned }) => !isPinned))
    fitBeside(model, events, group, watchdog, pinned);

  const possible = groups.filter(({ failure, requirements }) => failure === null && requirements.length > 0);
  const turns = takeTurns(watchdog, possible);
  // Groups are events in a row, in order.
  const groupOf = groups.flatMap((group) => group.events.map(() => group));
  const placements = events.map((_, event): EventPlacement => {
    const need = needs[event]!;
    const group = groupOf[event]!;
    if (group.failure !== null) return group.failure;
    if (need.kind !== 'counter') return { kind: need.kind };
    return { kind: 'counter', counters: turns.places.get(group)?.[group.counted.indexOf(event)] ?? [] };
  });
  return {
    events: placements,
    groups: groups.map((group) => ({
      events: group.events,
      isPinned: group.isPinned,
      isExclusive: group.isExclusive,
      share: group.failure !== null ? 0 : (turns.shares.get(group) ?? 1),
    })),
    held: turns.held.map((counters) => ({ holder: WATCHDOG, counters })),
    notes: model.notes,
  };
}

/**
 * The counter that an event is really on, by `perf_event_mmap_page.index`; `null`: it is on none
 * now, or on one not described.
 */
export function counterAtPageIndex(model: PmuModel, index: number): CounterDescription | null {
  if (index === 0) return null;
  return model.counters.find(({ pageIndex }) => pageIndex === index) ?? null;
}

function groupEvents(events: readonly PlannedEvent[], needs: readonly Need[]): Group[] {
  const lists: number[][] = [];
  for (const [event, { group }] of events.entries()) {
    const isNext = group !== null && event > 0 && events[event - 1]!.group === group;
    if (isNext) lists[lists.length - 1]!.push(event);
    else lists.push([event]);
  }
  return lists.map((list) => {
    const leader = events[list[0]!]!.attr.flags;
    const counted = list.filter((event) => needs[event]!.kind === 'counter');
    return {
      events: list,
      isPinned: leader.pinned === 1,
      isExclusive: leader.exclusive === 1,
      counted,
      requirements: counted.map((event) => (needs[event] as Need & { kind: 'counter' }).requirement),
      failure: null,
    };
  });
}

/** What the kernel refuses when the group is opened, however idle the PMU is. */
function refuseImpossible(
  model: PmuModel,
  events: readonly PlannedEvent[],
  needs: readonly Need[],
  group: Group,
): void {
  for (const [index, { refusal, leader }] of group.requirements.entries()) {
    const name = events[group.counted[index]!]!.name;
    if (refusal !== undefined) {
      group.failure = { kind: 'unschedulable', reason: `${name}: ${refusal}`, remedy: REMEDIES.refused };
      return;
    }
    const first = needs[group.events[0]!]!;
    if (leader !== undefined && (first.kind !== 'counter' || first.config !== leader.config)) {
      const reason = `${name} is only counted in a group led by ${leader.name}`;
      group.failure = { kind: 'unschedulable', reason, remedy: `Write {${leader.name},${name}}.` };
      return;
    }
  }
  fail(model, events, group, group.requirements, matchCounters(group.requirements), '', REMEDIES.tooLarge);
}

/** What opens, but never gets its turn: others hold the counters it needs. */
function fitBeside(
  model: PmuModel,
  events: readonly PlannedEvent[],
  group: Group,
  watchdog: readonly EventRequirement[],
  pinned: readonly EventRequirement[],
): void {
  if (group.failure !== null || group.requirements.length === 0) return;
  const besideWatchdog = [...watchdog, ...group.requirements];
  const remedy = REMEDIES.watchdog;
  fail(
    model,
    events,
    group,
    besideWatchdog,
    matchCounters(besideWatchdog),
    `${WATCHDOG} holds one counter; `,
    remedy,
  );
  if (group.failure !== null) return;
  const all = [...pinned, ...group.requirements];
  const others = 'pinned events come first; ';
  fail(model, events, group, all, matchCounters(all), others, REMEDIES.pinned);
}

function fail(
  model: PmuModel,
  events: readonly PlannedEvent[],
  group: Group,
  requirements: readonly EventRequirement[],
  match: Match,
  prefix: string,
  remedy: string,
): void {
  if (match.kind === 'found') return;
  if (match.kind === 'undecided') {
    group.failure = { kind: 'undecided' };
    return;
  }
  const others = requirements.length - group.requirements.length;
  const nameOf = (index: number) => (index < others ? null : events[group.counted[index - others]!]!.name);
  const reason = prefix + conflictText(model, match, requirements, nameOf);
  group.failure = { kind: 'unschedulable', reason, remedy };
}
