import { CounterpointError } from '@counterpoint/core/base';
import type { CountingRequest, EventList } from './request.ts';
import type { CountingTarget } from './types.ts';

/** What programs without types may hand over: each is named, before anything is done with it. */
export function checkRequest(request: CountingRequest): void {
  if (!isObject(request)) throw wrong('ERR_OPTION', 'a counting request', 'an object', request);
  checkTarget(request.target);
  checkEvents(request);
  checkOptions(request);
}

const TARGETS: Readonly<Record<CountingTarget['kind'], (target: Record<string, unknown>) => string | null>> =
  {
    self: () => null,
    processes: ({ pids }) => (isIds(pids) ? null : 'pids should be a list of process numbers'),
    threads: ({ tids }) => (isIds(tids) ? null : 'tids should be a list of thread numbers'),
    command: ({ pid }) => (isIds([pid]) ? null : 'pid should be the number of the held process'),
    cpus: ({ cpus }) => (isCpus(cpus) ? null : 'cpus should be a list of CPU numbers'),
    cgroup: ({ path, cpus }) =>
      typeof path !== 'string' || path === ''
        ? 'path should be that of a control group'
        : isCpus(cpus)
          ? null
          : 'cpus should be a list of CPU numbers',
  };

function checkTarget(target: unknown): void {
  const kinds = Object.keys(TARGETS).join(', ');
  if (!isObject(target)) throw wrong('ERR_TARGET', 'the target', `an object with a kind (${kinds})`, target);
  const { kind } = target;
  if (typeof kind !== 'string' || !Object.hasOwn(TARGETS, kind))
    throw wrong('ERR_TARGET', 'the kind of the target', `one of ${kinds}`, kind);
  const why = TARGETS[kind as CountingTarget['kind']](target);
  if (why !== null) throw new CounterpointError('ERR_TARGET', `the target ${kind}: ${why}`);
}

function checkEvents({ events, sets, overflows }: CountingRequest): void {
  if (events !== undefined) checkList(events, 'events');
  if (sets !== undefined && !Array.isArray(sets)) throw wrong('ERR_EVENTS', 'sets', 'a list', sets);
  sets?.forEach((set: unknown, index) => {
    const isNamed = isObject(set) && !Array.isArray(set);
    if (isNamed && set['name'] !== undefined && typeof set['name'] !== 'string')
      throw wrong('ERR_EVENTS', `the name of sets[${index}]`, 'text', set['name']);
    checkList(isNamed ? set['events'] : set, isNamed ? `sets[${index}].events` : `sets[${index}]`);
  });
  if (overflows === undefined) return;
  if (!Array.isArray(overflows)) throw wrong('ERR_OVERFLOW', 'overflows', 'a list', overflows);
  overflows.forEach((overflow: unknown, index) => {
    if (!isObject(overflow) || typeof overflow['event'] !== 'string')
      throw wrong('ERR_OVERFLOW', `overflows[${index}]`, 'an object with the name of an event', overflow);
  });
}

function checkList(events: unknown, place: string): asserts events is EventList {
  if (typeof events === 'string') return;
  const isEvent = (event: unknown) =>
    typeof event === 'string' ||
    (isObject(event) && typeof event['name'] === 'string' && isObject(event['attr']));
  if (!Array.isArray(events))
    throw wrong('ERR_EVENTS', place, "events in perf's grammar, or a list of events", events);
  events.forEach((event, index) => {
    if (!isEvent(event))
      throw wrong('ERR_EVENTS', `${place}[${index}]`, "an event in perf's grammar, or a parsed one", event);
  });
}

const CHOICES: Readonly<Record<string, readonly unknown[]>> = {
  inherit: [true, false],
  levels: ['all', 'user', 'kernel'],
  pinned: [true, false],
  exclusive: [true, false, 'require'],
  enableOnExec: [true, false],
};

/** Also of options that stand alone. */
export function checkOptions(options: object): void {
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined && !choices.includes(value))
      throw wrong('ERR_OPTION', name, `one of ${choices.join(', ')}`, value);
  }
}

/** For timers, which take any number and none at all. */
export function checkIntervalMs(name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 1 && value < 2 ** 31) return;
  throw wrong('ERR_INTERVAL', name, 'a number of milliseconds from 1 to 2147483647', value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isIds(ids: unknown): boolean {
  return Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id));
}

function isCpus(cpus: unknown): boolean {
  return cpus === undefined || (Array.isArray(cpus) && cpus.every((cpu) => Number.isSafeInteger(cpu)));
}

const LONGEST_SHOWN = 80;

function wrong(code: string, what: string, expected: string, value: unknown): CounterpointError {
  const shown = typeof value === 'object' && value !== null ? 'an object' : String(value);
  const text =
    typeof value === 'string' ? `'${shown.slice(0, LONGEST_SHOWN)}'` : shown.slice(0, LONGEST_SHOWN);
  return new CounterpointError(code, `${what} should be ${expected}, and is ${text}`);
}
