/** What programs without types may hand over: each is named, before anything is done with it. */
import { CounterpointError } from '@counterpoint/core/base';
import {
  ANYTHING,
  type Check,
  checkOptions,
  either,
  FLAG,
  isPlainObject,
  listOf,
  OBJECT,
  type OptionsOf,
  type OptionTable,
  oneOf,
  required,
  shownValue,
  TEXT,
  wholeNumberFrom,
} from '../../../host/options/index.ts';
import type { ControlOptions } from './control-data-types.ts';
import type { ControlRequest, CountingRequest, EventList, NamedSet } from './request-types.ts';
import { checkSwitchRule } from './switching.ts';
import type { CountingTarget, OverflowRequest } from './types.ts';

const ID = wholeNumberFrom(0);
/** Plans have numbers below zero for what is not there yet. */
const INTEGER: Check = { expects: 'a whole number', accepts: Number.isSafeInteger };
export const CPU_LIST = listOf(ID, 'a list of CPU numbers');
const TASK_LIST = required(listOf(INTEGER, 'a list of numbers'));

export const CONTROL_OPTIONS: OptionsOf<ControlOptions> = {
  inherit: FLAG,
  levels: oneOf('all', 'user', 'kernel'),
  pinned: FLAG,
  exclusive: oneOf(true, false, 'require'),
};

/** What has an error of its own is looked into by `checkControl`. */
const CONTROL: OptionsOf<ControlRequest> = {
  events: ANYTHING,
  sets: ANYTHING,
  overflows: ANYTHING,
  switching: ANYTHING,
  madeOf: OBJECT,
};

const REQUEST: OptionsOf<CountingRequest> = {
  ...CONTROL,
  ...CONTROL_OPTIONS,
  target: ANYTHING,
  enableOnExec: FLAG,
  paranoid: either(oneOf(null), INTEGER),
  sys: OBJECT,
};

const NAMED_SET: OptionsOf<NamedSet> = { name: TEXT, events: ANYTHING };

const OVERFLOW: OptionsOf<OverflowRequest> = {
  event: required(TEXT),
  // These are looked into where they are used, with the event's name.
  period: ANYTHING,
  initialPeriod: ANYTHING,
  randomMask: ANYTHING,
  action: ANYTHING,
  signal: ANYTHING,
};

const TARGETS: Readonly<Record<CountingTarget['kind'], OptionTable>> = {
  self: {},
  processes: { pids: { ...TASK_LIST, expects: 'a list of process numbers' } },
  threads: { tids: { ...TASK_LIST, expects: 'a list of thread numbers' } },
  command: { pid: required({ ...INTEGER, expects: 'the number of the held process' }) },
  cpus: { cpus: CPU_LIST },
  cgroup: {
    path: required({
      expects: 'the path of a control group',
      accepts: (path) => typeof path === 'string' && path !== '',
    }),
    cpus: CPU_LIST,
  },
};

export function checkRequest(request: CountingRequest): void {
  const where = 'a counting request';
  checkOptions(where, request, REQUEST);
  checkTarget(request.target);
  checkControl(request, where);
}

/** A control that stands alone; it may come with how the target is counted, as control data has it. */
export function requireControl(where: string, control: ControlRequest): void {
  checkOptions(where, control, { ...CONTROL, ...CONTROL_OPTIONS });
  checkControl(control, where);
}

/**
 * How a target is counted is settled when it is opened: a control that says otherwise is not for this
 * session. What it says the same is fine, as in control data.
 */
export function requireSameWay(
  control: ControlRequest & ControlOptions,
  opened: Required<ControlOptions>,
): void {
  for (const name of Object.keys(CONTROL_OPTIONS) as (keyof ControlOptions)[]) {
    const wanted = control[name];
    if (wanted === undefined || wanted === opened[name]) continue;
    throw new CounterpointError(
      'ERR_UPDATE',
      `update(): ${name} cannot change: this session was opened with ${shownValue(opened[name])}, not ${shownValue(wanted)}`,
      'Open another session for it.',
    );
  }
}

/** What may be saved: a control, or a whole request. */
export function requireSavable(request: ControlRequest & ControlOptions): void {
  const where = 'control data';
  checkOptions(where, request, REQUEST);
  checkControl(request, where);
}

function checkTarget(target: unknown): void {
  const kinds = Object.keys(TARGETS).join(', ');
  if (!isPlainObject(target))
    throw wrong('ERR_TARGET', 'the target', `an object with a kind (${kinds})`, target);
  const { kind, ...rest } = target;
  if (typeof kind !== 'string' || !Object.hasOwn(TARGETS, kind))
    throw wrong('ERR_TARGET', 'the kind of the target', `one of ${kinds}`, kind);
  checkOptions(`the target ${kind}`, rest, TARGETS[kind as CountingTarget['kind']], 'ERR_TARGET');
}

function checkControl({ events, sets, overflows, switching }: ControlRequest, where: string): void {
  if (events !== undefined) checkList(events, 'events');
  if (sets !== undefined && !Array.isArray(sets)) throw wrong('ERR_EVENTS', 'sets', 'a list', sets);
  sets?.forEach((set: unknown, index) => {
    const place = `sets[${index}]`;
    const isNamed = isPlainObject(set);
    if (isNamed) checkOptions(where, set, NAMED_SET, 'ERR_EVENTS', `${place}.`);
    if (isNamed) checkList(set['events'], `${place}.events`);
    else checkList(set, place);
  });
  if (switching !== undefined) checkSwitchRule(switching);
  if (overflows === undefined) return;
  if (!Array.isArray(overflows)) throw wrong('ERR_OVERFLOW', 'overflows', 'a list', overflows);
  overflows.forEach((overflow: unknown, index) => {
    checkOptions(where, overflow, OVERFLOW, 'ERR_OVERFLOW', `overflows[${index}].`);
  });
}

export function checkList(events: unknown, place: string): asserts events is EventList {
  if (typeof events === 'string') return;
  const isEvent = (event: unknown) =>
    typeof event === 'string' ||
    (isPlainObject(event) && typeof event['name'] === 'string' && isPlainObject(event['attr']));
  if (!Array.isArray(events))
    throw wrong('ERR_EVENTS', place, "events in perf's grammar, or a list of events", events);
  events.forEach((event, index) => {
    if (!isEvent(event))
      throw wrong('ERR_EVENTS', `${place}[${index}]`, "an event in perf's grammar, or a parsed one", event);
  });
}

/** Names of events, as `reset` and `update` take them. */
export const NAMES: Check = {
  ...either(listOf(TEXT, 'a list of names of events'), oneOf('all')),
  code: 'ERR_NO_EVENT',
};

/** For timers, which take any number and none at all. */
export const INTERVAL_MS: Check = {
  expects: 'a number of milliseconds from 1 to 2147483647',
  accepts: (value) => typeof value === 'number' && value >= 1 && value < 2 ** 31,
  code: 'ERR_INTERVAL',
};

function wrong(code: string, what: string, expected: string, value: unknown): CounterpointError {
  return new CounterpointError(
    code,
    `${what} should be ${expected}, but is ${shownValue(value)}`,
    `Give ${what} as ${expected}.`,
  );
}
