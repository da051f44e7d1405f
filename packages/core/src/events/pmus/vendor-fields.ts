import { printable } from '../../base/index.ts';
import type { ProblemList } from './vendor-types.ts';

/** A JSON object whose fields may be anything. */
export type Fields = Readonly<Record<string, unknown>>;

const LONGEST_NAME = 200;
const LONGEST_TEXT = 4000;
const LARGEST = 0xffff_ffff_ffff_ffffn;

/** What may stand in an event's name: nothing that the grammar of events gives a meaning. */
const NAME = /^[A-Za-z0-9_.][A-Za-z0-9_.:+-]*$/;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field by any of its spellings (`UMask`, `Umask`); never one inherited from Object. */
export function field(fields: Fields, ...names: readonly string[]): unknown {
  for (const name of names) if (Object.hasOwn(fields, name)) return fields[name];
  return undefined;
}

export function textField(fields: Fields, ...names: readonly string[]): string {
  const value = field(fields, ...names);
  if (typeof value !== 'string') return '';
  return printable(value.slice(0, LONGEST_TEXT).replace(/\s+/g, ' ').trim());
}

export function eventName(value: unknown): string | null {
  return typeof value === 'string' && value.length <= LONGEST_NAME && NAME.test(value) ? value : null;
}

/**
 * A number as the tables write them: `"0x3C"`, `"60"`, `60`. `null`: absent or empty. A value that is none
 * is a problem, and `undefined`.
 */
export function numberField(
  fields: Fields,
  place: string,
  problems: ProblemList,
  ...names: readonly string[]
): bigint | null | undefined {
  const value = field(fields, ...names);
  if (value === undefined || value === null || value === '') return null;
  const number = readNumber(value);
  if (number === undefined) problems.add(`${place}.${names[0]}`, `${shown(value)} is not a 64-bit number`);
  return number;
}

export function readNumber(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (!/^(?:0[xX][\da-fA-F]{1,20}|\d{1,20})$/.test(text)) return undefined;
  const number = BigInt(text);
  return number <= LARGEST ? number : undefined;
}

/** `1`, `"1"`, `true`. */
export function isSet(fields: Fields, ...names: readonly string[]): boolean {
  const value = field(fields, ...names);
  return (
    value === true || value === 1 || (typeof value === 'string' && /^(?:1|true|yes|0x1)$/i.test(value.trim()))
  );
}

/** A value in a message: short, and safe to print. */
export function shown(value: unknown): string {
  const text = typeof value === 'object' && value !== null ? 'an object' : String(value);
  return printable(text.length > 40 ? `${text.slice(0, 40)}…` : text) || 'an empty text';
}
