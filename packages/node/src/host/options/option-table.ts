/**
 * What programs without types hand over, checked before anything is done with it. A function with options
 * has a table with a row for each:
 *
 *   const OPTIONS: OptionsOf<PublishOptions> = { name: TEXT, intervalMs: numberFrom(1, 1000) };
 *   checkOptions('publish()', options, OPTIONS);
 *
 *   publish(): name should be text, but is 5
 *   publish(): there is no option nmae; did you mean name?
 */
import { CounterpointError, didYouMean, nearestNames, shownValue } from '@counterpoint/core/base';

/** What a value has to be. */
export interface Check {
  /** Behind `should be`. */
  readonly expects: string;
  readonly accepts: (value: unknown) => boolean;
  /** Those of an object, each with its own check. */
  readonly fields?: OptionTable;
  readonly isRequired?: true;
  /** Of the error, where it has one of its own. */
  readonly code?: string;
}

export type OptionTable = Readonly<Record<string, Check>>;

/** A table with a row for every option of a type, and no other. */
export type OptionsOf<T> = { readonly [Name in keyof Required<T>]: Check };

/**
 * Throws for the first option that is unknown, missing or not what it should be.
 * One that is undefined is absent.
 */
export function checkOptions(
  where: string,
  options: unknown,
  table: OptionTable,
  code = 'ERR_OPTION',
  path = '',
): void {
  if (!isPlainObject(options)) {
    const what = path === '' ? 'the options' : path.slice(0, -1);
    throw new CounterpointError(
      code,
      `${where}: ${what} should be an object, but is ${shownValue(options)}`,
      `Give an object with some of: ${namesOf(table).join(', ')}.`,
    );
  }
  const known = namesOf(table);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(table, name));
  if (unknown !== undefined)
    throw new CounterpointError(
      code,
      `${where}: there is no option ${path}${unknown.slice(0, LONGEST_SHOWN)}${didYouMean(meant(unknown, table))}`,
      known.length === 0 ? 'It has none.' : `Known are ${known.join(', ')}.`,
    );
  for (const [name, check] of Object.entries(table)) {
    const value = options[name];
    if (value === undefined && check.isRequired !== true) continue;
    if (!check.accepts(value))
      throw new CounterpointError(
        check.code ?? code,
        `${where}: ${path}${name} should be ${check.expects}, but is ${shownValue(value)}`,
        check.isRequired === true
          ? `Give ${check.expects}.`
          : `Give ${check.expects}, or leave ${path}${name} out.`,
      );
    if (check.fields !== undefined && isPlainObject(value))
      checkOptions(where, value, check.fields, check.code ?? code, `${path}${name}.`);
  }
}

/** Near names; first of all the same name one level below, where it belongs: `control.events`. */
function meant(unknown: string, table: OptionTable): string[] {
  const below = Object.entries(table).flatMap(([outer, { fields = {} }]) =>
    namesOf(fields).map((inner) => ({ inner, place: `${outer}.${inner}` })),
  );
  const same = below.filter(({ inner }) => inner === unknown).map(({ place }) => place);
  if (same.length > 0) return same;
  const near = nearestNames(unknown, namesOf(table));
  if (near.length > 0) return near;
  const nearBelow = nearestNames(
    unknown,
    below.map(({ inner }) => inner),
  );
  return below.filter(({ inner }) => nearBelow.includes(inner)).map(({ place }) => place);
}

function namesOf(table: OptionTable): string[] {
  return Object.keys(table).filter((name) => name !== OF_TESTS);
}

/** Whether a value is an object with members of these types. */
export function hasMembers(value: unknown, members: Readonly<Record<string, string>>): boolean {
  return isPlainObject(value) && Object.entries(members).every(([name, type]) => typeof value[name] === type);
}

export function required(check: Check): Check {
  return { ...check, isRequired: true };
}

/** For what is checked elsewhere, or cannot be wrong. */
export const ANYTHING: Check = { expects: 'anything', accepts: () => true };
export const TEXT: Check = { expects: 'text', accepts: (value) => typeof value === 'string' };
export const FLAG: Check = { expects: 'true or false', accepts: (value) => typeof value === 'boolean' };
export const FUNCTION: Check = { expects: 'a function', accepts: (value) => typeof value === 'function' };
export const OBJECT: Check = { expects: 'an object', accepts: isPlainObject };
export const SIGNAL: Check = {
  expects: 'an AbortSignal',
  accepts: (value) => isPlainObject(value) && typeof value['addEventListener'] === 'function',
};

export function objectOf(fields: OptionTable): Check {
  return { ...OBJECT, fields };
}

export function oneOf(...choices: readonly unknown[]): Check {
  const words = choices.map(String);
  const expects = words.length === 1 ? words[0]! : `one of ${words.join(', ')}`;
  return { expects, accepts: (value) => choices.includes(value) };
}

export function numberFrom(least: number, most = Number.POSITIVE_INFINITY): Check {
  return {
    expects: `a number ${range(least, most)}`,
    accepts: (value) => typeof value === 'number' && value >= least && value <= most,
  };
}

export function wholeNumberFrom(least: number, most = Number.MAX_SAFE_INTEGER): Check {
  return {
    expects: `a whole number ${range(least, most)}`,
    accepts: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  };
}

export function listOf(item: Check, expects: string): Check {
  return { expects, accepts: (value) => Array.isArray(value) && value.every(item.accepts) };
}

export function either(...checks: readonly Check[]): Check {
  return {
    expects: checks.map(({ expects }) => expects).join(', or '),
    accepts: (value) => checks.some((check) => check.accepts(value)),
  };
}

function range(least: number, most: number): string {
  return most === Number.POSITIVE_INFINITY || most === Number.MAX_SAFE_INTEGER
    ? `from ${least}`
    : `from ${least} to ${most}`;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** In place of the kernel. Nobody else needs to know of it. */
const OF_TESTS = 'sys';
const LONGEST_SHOWN = 80;

/**
 * For constructors that only a function of ours calls: `given` has to be the object with that member, which
 * no other caller has. `how` makes what is wanted.
 */
export function checkMade(given: unknown, member: string, what: string, how: string): void {
  if (isPlainObject(given) && member in given) return;
  throw new CounterpointError('ERR_ARGUMENT', `${what} is not made by its constructor`, `Write ${how}`);
}
