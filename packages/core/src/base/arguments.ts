/**
 * What programs without types hand over, checked where it comes in: an error with a code and a next step, in
 * place of a TypeError from somewhere inside.
 */
import { CounterpointError } from './errors.ts';
import { didYouMean, nearestNames } from './nearest.ts';

const LONGEST_SHOWN = 80;
const MOST_ITEMS_SHOWN = 5;

/** A value for an error message: short, and never by code of its own. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) {
    const items = value
      .slice(0, MOST_ITEMS_SHOWN)
      .map((item) => (Array.isArray(item) ? '[…]' : shownValue(item)));
    return `[${items.join(', ')}${value.length > MOST_ITEMS_SHOWN ? ', …' : ''}]`;
  }
  switch (typeof value) {
    case 'object':
      return value === null ? 'null' : 'an object';
    case 'function':
      return 'a function';
    case 'bigint':
      return `${value}n`;
    case 'string':
      return `'${value.slice(0, LONGEST_SHOWN)}'`;
    default:
      return String(value);
  }
}

/**
 * Throws `ERR_ARGUMENT` where an argument is not what it should be: not an object with these members, or
 * false. `where` names the function, `name` the argument; `remedy` says where the right one comes from.
 */
export function checkArgument(
  right: boolean | Readonly<Record<string, string>>,
  where: string,
  name: string,
  value: unknown,
  expects: string,
  remedy = `Give ${expects}.`,
): void {
  if (typeof right === 'boolean' ? right : hasMembers(value, right)) return;
  const message = `${where}: ${name} should be ${expects}, but is ${shownValue(value)}`;
  throw new CounterpointError('ERR_ARGUMENT', message, remedy);
}

/** Whether a value is an object with members of these types. */
export function hasMembers(value: unknown, members: Readonly<Record<string, string>>): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(members).every(([name, type]) => typeof Reflect.get(value, name) === type);
}

export function checkText(where: string, name: string, value: unknown): void {
  checkArgument(typeof value === 'string', where, name, value, 'text');
}

/** The names of all options of a type, and no others. */
export type OptionNames<T> = { readonly [Name in keyof Required<T>]: true };

/** Throws `ERR_OPTION` for options that are no object, and for a name that nobody knows. */
export function checkOptionNames<T>(where: string, options: unknown, names: OptionNames<T>): void {
  const known = Object.keys(names);
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new CounterpointError(
      'ERR_OPTION',
      `${where}: the options should be an object, but is ${shownValue(options)}`,
      `Give an object with some of: ${known.join(', ')}.`,
    );
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  throw new CounterpointError(
    'ERR_OPTION',
    `${where}: there is no option ${unknown.slice(0, LONGEST_SHOWN)}${didYouMean(nearestNames(unknown, known))}`,
    `Known are ${known.join(', ')}.`,
  );
}
