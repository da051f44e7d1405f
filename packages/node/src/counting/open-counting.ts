import { CounterpointError } from '@counterpoint/core/base';
import { type ParsedEvent, parseEvents } from '@counterpoint/core/events';
import { systemEventLookup } from '../pmu/index.ts';
import { paranoidLevel } from '../probe/index.ts';
import type { Note } from '../session/index.ts';
import { realSys, type Sys } from '../sys/index.ts';
import { openCgroup } from './cgroups.ts';
import type { OpenSet } from './counter-set.ts';
import { openSet } from './open-set.ts';
import { type CountingOptions, planSet } from './plan-set.ts';
import { unsupportedFacts } from './reasons.ts';
import { CountingSession } from './session.ts';
import type { CountingPlan, CountingTarget } from './types.ts';

/** Events in perf's grammar, or parsed ones. */
export type EventList = string | readonly string[] | readonly ParsedEvent[];

export interface NamedSet {
  /** The text of its events where it has no other. */
  name?: string;
  events: EventList;
}

export interface CountingRequest {
  target: CountingTarget;
  /** One set. */
  events?: EventList;
  /** Several, of which one at a time is loaded. */
  sets?: readonly (EventList | NamedSet)[];
  /** Count threads and children that the target starts (default true; never for `self` and for CPUs). */
  inherit?: boolean;
  levels?: 'all' | 'user' | 'kernel';
  pinned?: boolean;
  exclusive?: boolean;
  /** The command's exec starts the counters (default for a held command). */
  enableOnExec?: boolean;
  /** kernel.perf_event_paranoid; read when absent. */
  paranoid?: number | null;
  sys?: Sys;
}

/** Everything that `openCounting` would open, without opening it. */
export function planCounting(request: CountingRequest): CountingPlan {
  const { target } = request;
  const options = optionsOf(request);
  const sets = namedSets(request).map(({ name, events }) =>
    planSet(name, parseList(events), target, options),
  );
  return { target, sets };
}

/**
 * Open counters on a target. Events that the machine does not have stay in the session as `not-supported` with a reason; a
 * missing right or a target that is not there is an error.
 */
export function openCounting(request: CountingRequest): CountingSession {
  const { target, sys = realSys, paranoid = paranoidLevel() } = request;
  const plan = planCounting(request);
  const options = optionsOf(request);
  const notes: Note[] = [];
  const facts = unsupportedFacts();
  const cgroup = target.kind === 'cgroup' ? openCgroup(target.path) : null;
  const sets: OpenSet[] = [];
  try {
    const descriptorsNeeded = plan.sets.reduce((sum, { rows }) => sum + rows.length, 0);
    for (const [index, set] of plan.sets.entries()) {
      // Only the first set is loaded by the exec.
      if (index > 0) for (const { attr } of set.events) attr.flags.enableOnExec = 0;
      const context = { sys, options, paranoid, facts, notes, descriptorsNeeded, cgroup };
      sets.push(openSet(set, context));
    }
    const { enableOnExec } = options;
    return new CountingSession({ sys, target, sets, notes, facts, enableOnExec, cgroup });
  } catch (error) {
    for (const set of sets) set.close();
    cgroup?.close();
    throw error;
  }
}

function optionsOf(request: CountingRequest): CountingOptions {
  const { target, inherit, levels = 'all', pinned, exclusive, enableOnExec } = request;
  return {
    inherit: target.kind === 'self' ? false : (inherit ?? true),
    levels,
    enableOnExec: enableOnExec ?? target.kind === 'command',
    ...(pinned === undefined ? {} : { pinned }),
    ...(exclusive === undefined ? {} : { exclusive }),
  };
}

function namedSets({ events, sets }: CountingRequest): Required<NamedSet>[] {
  const lists = [...(events === undefined ? [] : [events]), ...(sets ?? [])];
  if (lists.length === 0)
    throw new CounterpointError('ERR_NO_EVENTS', 'no events to count', 'Name some: events or sets.');
  return lists.map((list, index) => {
    const named: NamedSet = isNamed(list) ? list : { events: list };
    return { name: named.name ?? nameOf(named.events, index), events: named.events };
  });
}

function isNamed(list: EventList | NamedSet): list is NamedSet {
  return typeof list === 'object' && !Array.isArray(list);
}

function nameOf(events: EventList, index: number): string {
  if (typeof events === 'string') return events;
  const names = events.map((event) => (typeof event === 'string' ? event : event.name));
  return names.length > 0 ? names.join(',') : `set ${index + 1}`;
}

/** Parse texts one after another; group numbers stay apart. */
export function parseList(events: EventList): ParsedEvent[] {
  const lookup = systemEventLookup();
  const parsed: ParsedEvent[] = [];
  for (const event of typeof events === 'string' ? [events] : events) {
    if (typeof event !== 'string') {
      parsed.push(event);
      continue;
    }
    const groups = parsed.map(({ group }) => group ?? -1);
    parsed.push(...parseEvents(event, lookup, { firstGroup: Math.max(-1, ...groups) + 1 }));
  }
  return parsed;
}
