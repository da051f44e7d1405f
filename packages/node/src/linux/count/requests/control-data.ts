import { CounterpointError, optional } from '@counterpoint/core/base';
import { isPlainObject, shownValue } from '../../../host/options/index.ts';
import { requireSavable } from './check-request.ts';
import type {
  ControlData,
  ControlOptions,
  ControlOverflow,
  ControlSet,
  ControlSwitch,
} from './control-data-types.ts';
import { isNamed, namesOfSets } from './request.ts';
import type { ControlRequest, EventList, NamedSet } from './request-types.ts';
import type { SwitchRule } from './switching.ts';
import type { OverflowRequest } from './types.ts';

/** What this file's `version` is, and the highest `needs` that is understood here. */
export const CONTROL_DATA_VERSION = 1;

/**
 * The control of a request. `before`, read from a file, keeps what this version does not know; all
 * that it knows is the request's.
 */
export function controlData(
  request: ControlRequest & ControlOptions,
  before: ControlData | undefined = request?.madeOf,
): ControlData {
  requireSavable(request);
  const { events, sets, overflows, switching } = request;
  const lists = [...(events === undefined ? [] : [events]), ...(sets ?? [])];
  const data: ControlData = {
    ...unknownFields(before ?? {}, TOP),
    type: 'control-data',
    version: Math.max(CONTROL_DATA_VERSION, before?.version ?? 0),
    needs: before?.needs ?? 1,
    sets: namesOfSets(lists).map((name, index) => controlSet(name, lists[index]!, before)),
  };
  // A signal goes to a thread that is there now: it is not part of what is saved.
  if (overflows !== undefined)
    data.overflows = overflows.map((overflow) => controlOverflow(overflow, before));
  if (switching !== undefined)
    data.switch = { ...unknownFields(before?.switch ?? {}, SWITCH), ...controlSwitch(switching) };
  for (const name of ['inherit', 'levels', 'pinned', 'exclusive'] as const) {
    if (request[name] !== undefined) Object.assign(data, { [name]: request[name] });
  }
  return data;
}

/** What this version knows, by the place where it stands. */
const TOP = new Set([
  'type',
  'version',
  'needs',
  'sets',
  'switch',
  'overflows',
  'inherit',
  'levels',
  'pinned',
  'exclusive',
]);
const SET = new Set(['name', 'events']);
const SWITCH = new Set(['by', 'sliceMs', 'event', 'count']);
const OVERFLOW = new Set(['event', 'period', 'initialPeriod', 'randomMask', 'action']);

function unknownFields(fields: object, known: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !known.has(name)));
}

function hasMore({ version, sets, switch: rule, overflows = [], ...top }: ControlData): boolean {
  const isMore = (fields: object, known: ReadonlySet<string>) =>
    Object.keys(unknownFields(fields, known)).length > 0;
  return (
    version > CONTROL_DATA_VERSION ||
    isMore(top, TOP) ||
    isMore(rule ?? {}, SWITCH) ||
    sets.some((set) => isMore(set, SET)) ||
    overflows.some((overflow) => isMore(overflow, OVERFLOW))
  );
}

function controlSet(name: string, list: EventList | NamedSet, before: ControlData | undefined): ControlSet {
  const events = textOf(isNamed(list) ? list.events : list);
  return { ...before?.sets.find((set) => set.name === name), name, events };
}

function textOf(events: EventList): string {
  if (typeof events === 'string') return events;
  const texts = events.map((event) => {
    if (typeof event === 'string') return event;
    throw new CounterpointError(
      'ERR_CONTROL_DATA',
      `the event ${event.name} was given as an object, and cannot be saved by its name`,
      "Give events as text in perf's grammar.",
    );
  });
  return texts.join(',');
}

function controlOverflow(overflow: OverflowRequest, before: ControlData | undefined): ControlOverflow {
  const { event, period, initialPeriod, randomMask, action } = overflow;
  return {
    ...unknownFields(before?.overflows?.find((known) => known.event === event) ?? {}, OVERFLOW),
    event,
    period: String(period),
    ...(initialPeriod === undefined ? {} : { initialPeriod: String(initialPeriod) }),
    ...optional({ randomMask, action }),
  };
}

function controlSwitch(rule: SwitchRule): ControlSwitch {
  if (rule.by === 'overflow') return { by: 'overflow', event: rule.event, count: String(rule.count) };
  return rule.by === 'time' ? { by: 'time', sliceMs: rule.sliceMs } : { by: 'manual' };
}

/** The request of control data, for `openCounting` with a target, or for `session.update`. */
export function controlRequest(data: ControlData): ControlRequest & ControlOptions {
  if (!isPlainObject(data) || !Array.isArray(data.sets))
    throw new CounterpointError(
      'ERR_CONTROL_DATA',
      `controlRequest(): this is not control data, but ${shownValue(data)}`,
      'session.control() returns control data, and parseControlData() makes it from text.',
    );
  const { sets, overflows, switch: rule, inherit, levels, pinned, exclusive } = data;
  return {
    sets: sets.map(({ name, events }) => ({ name, events })),
    ...(overflows === undefined ? {} : { overflows: overflows.map(overflowRequest) }),
    ...(rule === undefined ? {} : { switching: switchRule(rule) }),
    ...optional({ inherit, levels, pinned, exclusive }),
    ...(hasMore(data) ? { madeOf: data } : {}),
  };
}

function overflowRequest({
  event,
  period,
  initialPeriod,
  randomMask,
  action,
}: ControlOverflow): OverflowRequest {
  return {
    event,
    period: BigInt(period),
    ...(initialPeriod === undefined ? {} : { initialPeriod: BigInt(initialPeriod) }),
    ...optional({ randomMask, action }),
  };
}

function switchRule({ by, sliceMs, event, count }: ControlSwitch): SwitchRule {
  if (by === 'time') return { by, sliceMs: sliceMs! };
  return by === 'overflow' ? { by, event: event!, count: BigInt(count!) } : { by };
}
