import { CounterpointError } from '@counterpoint/core/base';
import { type ParsedEvent, parseEvents } from '@counterpoint/core/events';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { checkList, checkRequest } from './check-request.ts';
import type { ControlOptions } from './control-data-types.ts';
import { requireOverflowEvents } from './overflow-control.ts';
import { type CountingOptions, planSet } from './plan-set.ts';
import type { ControlRequest, CountingRequest, EventList, NamedSet } from './request-types.ts';
import { switchOverflow } from './switching.ts';
import type { CountingPlan } from './types.ts';

/** Everything that `openCounting` would open, without opening it. */
export function planCounting(request: CountingRequest): CountingPlan {
  checkRequest(request);
  const { target } = request;
  const sets = setsOf(request).map(({ name, events }, index) =>
    planSet(name, events, target, optionsOf(request, index)),
  );
  const names = sets.flatMap(({ events }) => events.map(({ requestedName }) => requestedName));
  requireOverflowEvents(optionsOf(request, 0).overflows ?? [], names);
  return { target, sets };
}

/** How a target is counted, with what is meant where nothing was said. */
export function waysOf(request: CountingRequest): Required<ControlOptions> {
  const { inherit, levels } = optionsOf(request, 0);
  return { inherit, levels, pinned: request.pinned ?? false, exclusive: request.exclusive ?? false };
}

/** The options of the set of this index. Only the first set is loaded by the exec. */
export function optionsOf(request: CountingRequest, index: number): CountingOptions {
  const {
    target,
    inherit,
    levels = 'all',
    pinned,
    exclusive,
    enableOnExec,
    overflows = [],
    switching,
  } = request;
  const suspends = overflows.some(({ action }) => action === 'suspend');
  const own = switching === undefined ? null : switchOverflow(switching);
  return {
    inherit: target.kind === 'self' ? false : (inherit ?? !suspends),
    levels,
    enableOnExec: index === 0 && (enableOnExec ?? target.kind === 'command'),
    overflows: own === null ? overflows : [own, ...overflows],
    pinned: pinned === true || exclusive === 'require',
    exclusive: exclusive !== undefined && exclusive !== false,
  };
}

interface ParsedSet {
  name: string;
  events: ParsedEvent[];
}

function setsOf({ events, sets, switching }: ControlRequest): ParsedSet[] {
  const lists = [...(events === undefined ? [] : [events]), ...(sets ?? [])];
  if (lists.length === 0)
    throw new CounterpointError('ERR_NO_EVENTS', 'no events to count', 'Give events or sets.');
  const names = namesOfSets(lists);
  const parsed = lists.map((list, index): ParsedSet => {
    const named: NamedSet = isNamed(list) ? list : { events: list };
    return { name: names[index]!, events: parseList(named.events) };
  });
  if (parsed.some(({ events: own }) => own.length === 0))
    throw new CounterpointError('ERR_NO_EVENTS', 'an event set is empty', 'Give each set events.');
  if (switching?.by === 'overflow') for (const set of parsed) addSwitchEvent(set, switching.event);
  return parsed;
}

/** The event whose overflow ends a set has to be counted in it. */
function addSwitchEvent({ events }: ParsedSet, name: string): void {
  if (events.some((event) => event.name === name)) return;
  events.push(...parseList(name));
}

export function isNamed(list: EventList | NamedSet): list is NamedSet {
  return typeof list === 'object' && !Array.isArray(list);
}

/**
 * The names of sets; those that have none are named by their events. Throws
 * where two were given the same one.
 */
export function namesOfSets(lists: readonly (EventList | NamedSet)[]): string[] {
  const given = lists.map((list) => (isNamed(list) ? list.name : undefined));
  const taken = new Set<string>();
  for (const name of given) {
    if (name !== undefined && taken.has(name))
      throw new CounterpointError('ERR_SET_NAME', `two event sets have the name ${name}`, 'Name them apart.');
    if (name !== undefined) taken.add(name);
  }
  return lists.map((list, index) => {
    if (given[index] !== undefined) return given[index];
    const base = nameOf(isNamed(list) ? list.events : list, index);
    let name = base;
    for (let copy = 2; taken.has(name); copy++) name = `${base} (${copy})`;
    taken.add(name);
    return name;
  });
}

/** A longer list of events is no name. */
const LONGEST_NAME = 200;

function nameOf(events: EventList, index: number): string {
  const names =
    typeof events === 'string'
      ? [events]
      : events.map((event) => (typeof event === 'string' ? event : event.name));
  const name = names.join(',');
  return name !== '' && name.length <= LONGEST_NAME ? name : `set ${index + 1}`;
}

/** Parse texts one after another; group numbers stay apart. */
export function parseList(events: EventList): ParsedEvent[] {
  checkList(events, 'events');
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
