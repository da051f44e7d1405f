import { CounterpointError } from '@counterpoint/core/base';
import { checkOptions, required, TEXT } from '../../../host/options/index.ts';
import { CONTROL_DATA_VERSION } from './control-data.ts';
import type { ControlData } from './control-data-types.ts';
import { jsonFault } from './json-fault.ts';

/** More is not control data, whatever it is. */
const MOST_BYTES = 1 << 20;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value !== '';
const isSwitch: Check = (value) => typeof value === 'boolean';
const isVersion: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 1;
const isPeriod: Check = (value) => typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value);
const isMask: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
const isSlice: Check = (value) => typeof value === 'number' && value >= 1 && value < 2 ** 31;
const oneOf =
  (...choices: unknown[]): Check =>
  (value) =>
    choices.includes(value);

interface Field {
  name: string;
  check: Check;
  expects: string;
  required?: boolean;
}

/** The fields that are known here, by the place where they stand. All others are let through. */
const TOP: readonly Field[] = [
  { name: 'type', check: oneOf('control-data'), expects: "'control-data'", required: true },
  { name: 'version', check: isVersion, expects: 'a number from 1', required: true },
  { name: 'needs', check: isVersion, expects: 'a number from 1' },
  { name: 'inherit', check: isSwitch, expects: 'true or false' },
  { name: 'levels', check: oneOf('all', 'user', 'kernel'), expects: 'all, user or kernel' },
  { name: 'pinned', check: isSwitch, expects: 'true or false' },
  { name: 'exclusive', check: oneOf(true, false, 'require'), expects: 'true, false or require' },
];
const SET: readonly Field[] = [
  { name: 'name', check: isText, expects: 'a name', required: true },
  { name: 'events', check: isText, expects: "events in perf's grammar", required: true },
];
const OVERFLOW: readonly Field[] = [
  { name: 'event', check: isText, expects: 'the name of an event', required: true },
  { name: 'period', check: isPeriod, expects: 'a decimal string such as "1000"', required: true },
  { name: 'initialPeriod', check: isPeriod, expects: 'a decimal string such as "1000"' },
  { name: 'randomMask', check: isMask, expects: 'a number below 2^32' },
  { name: 'action', check: oneOf('notify', 'suspend'), expects: 'notify or suspend' },
];
const SWITCH: Readonly<Record<string, readonly Field[]>> = {
  manual: [],
  time: [{ name: 'sliceMs', check: isSlice, expects: 'milliseconds from 1', required: true }],
  overflow: [
    { name: 'event', check: isText, expects: 'the name of an event', required: true },
    { name: 'count', check: isPeriod, expects: 'a decimal string such as "1000"', required: true },
  ],
};

/**
 * Control data from its text. Throws `ERR_CONTROL_DATA` with the place of what is wrong;
 * `source` is what the text came from.
 */
export function parseControlData(text: string, source = 'this'): ControlData {
  checkOptions('parseControlData()', { text }, { text: required(TEXT) });
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof WrongControlData)) throw error;
    throw new CounterpointError(
      'ERR_CONTROL_DATA',
      `${source} is not control data: ${error.message}`,
      'counterpoint stat --save-control FILE writes control data.',
    );
  }
}

class WrongControlData extends Error {}

function refuse(why: string): WrongControlData {
  return new WrongControlData(why);
}

function parse(text: string): ControlData {
  if (text.length > MOST_BYTES) throw refuse('it is larger than 1 MiB');
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    const { line, column, what } = jsonFault(text);
    throw refuse(`it is not JSON: ${what} in line ${line}, column ${column}`);
  }
  const top = requireObject(data, 'the file');
  checkFields(top, TOP, '');
  const needs = (top['needs'] as number | undefined) ?? 1;
  if (needs > CONTROL_DATA_VERSION) {
    throw new CounterpointError(
      'ERR_CONTROL_DATA_VERSION',
      `this control data needs a program that knows version ${needs}; this program knows version ${CONTROL_DATA_VERSION}`,
      'Update counterpoint, or save it again with fewer features.',
    );
  }
  const sets = requireList(top['sets'], 'sets');
  if (sets.length === 0) throw refuse('sets is empty');
  sets.forEach((set, index) => {
    checkFields(requireObject(set, `sets[${index}]`), SET, `sets[${index}].`);
  });
  refuseSameNames(sets as { name: string }[]);
  if (top['overflows'] !== undefined) {
    requireList(top['overflows'], 'overflows').forEach((overflow, index) => {
      checkFields(requireObject(overflow, `overflows[${index}]`), OVERFLOW, `overflows[${index}].`);
    });
  }
  if (top['switch'] !== undefined) checkSwitch(requireObject(top['switch'], 'switch'));
  return { ...top, needs } as ControlData;
}

/** Sets are loaded, and their sums preserved, by name. */
function refuseSameNames(sets: readonly { name: string }[]): void {
  sets.forEach(({ name }, index) => {
    const first = sets.findIndex((set) => set.name === name);
    if (first !== index) throw refuse(`sets[${index}].name is ${name}, which is the name of sets[${first}]`);
  });
}

function checkSwitch(rule: Record<string, unknown>): void {
  const { by } = rule;
  const fields = typeof by === 'string' && Object.hasOwn(SWITCH, by) ? SWITCH[by] : undefined;
  if (fields === undefined) throw refuse('switch.by should be manual, time or overflow');
  checkFields(rule, fields, 'switch.');
}

function checkFields(object: Record<string, unknown>, fields: readonly Field[], place: string): void {
  for (const { name, check, expects, required = false } of fields) {
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    if (value === undefined ? required : !check(value)) throw refuse(`${place}${name} should be ${expects}`);
  }
}

function requireObject(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw refuse(`${place} should be an object`);
}

function requireList(value: unknown, place: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw refuse(`${place} should be a list`);
}
