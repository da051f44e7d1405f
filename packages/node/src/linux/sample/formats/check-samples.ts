/**
 * What formats give as samples, before it is written: formats without types would else damage the recording.
 */
import { CounterpointError } from '@counterpoint/core/base';
import type { FormatSample, SampleRows } from './format.ts';
import { rowStart } from './sample-rows.ts';

const MOST_U32 = 2 ** 32 - 1;
const LEAST_I64 = -(2n ** 63n);
const MOST_U64 = 2n ** 64n - 1n;

/** -1 is the kernel's number for a task that has ended already, and for no CPU. */
const isU32 = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= -1 && (value as number) <= MOST_U32;
const isU64 = (value: unknown) => typeof value === 'bigint' && value >= 0n && value <= MOST_U64;
/** Addresses of the kernel may be negative, as `BigInt64Array` has them. */
const isAddress = (value: unknown) => typeof value === 'bigint' && value >= LEAST_I64 && value <= MOST_U64;
const isList = (value: unknown) => Array.isArray(value) && value.every(isAddress);

const U32 = [isU32, 'a whole number of 32 bits'] as const;
const U64 = [isU64, 'a bigint of 64 bits, not negative'] as const;
const ADDRESS = [isAddress, 'a bigint of 64 bits'] as const;
const LIST = [isList, 'an array of bigints'] as const;

const FIELDS = {
  ip: ADDRESS,
  pid: U32,
  tid: U32,
  cpu: U32,
  timeNs: U64,
  period: U64,
} as const satisfies Partial<Record<keyof FormatSample, unknown>>;
const NEEDED = Object.entries(FIELDS);

const OPTIONAL = Object.entries({
  address: ADDRESS,
  weight: U64,
  registers: LIST,
  callchain: LIST,
} as const satisfies Partial<Record<keyof FormatSample, unknown>>);

/** Throws `ERR_FORMAT_SAMPLE` if this is not a sample of a format with this many events. */
export function checkSample(format: string, sample: unknown, events: number): FormatSample {
  if (typeof sample !== 'object' || sample === null)
    throw wrong(`toSamples of the format ${format} gives ${shown(sample)}`, 'a sample, an object');
  const { event } = sample as FormatSample;
  if (!(Number.isInteger(event) && event >= 0 && event < events))
    throw wrong(`a sample of the format ${format} has event ${shown(event)}`, eventNumbers(events));
  const fields = sample as Readonly<Record<string, unknown>>;
  for (const [name, [isRight, what]] of NEEDED)
    if (!isRight(fields[name]))
      throw wrong(`a sample of the format ${format} has ${name} ${shown(fields[name])}`, what);
  for (const [name, [isRight, what]] of OPTIONAL)
    if (fields[name] !== undefined && !isRight(fields[name]))
      throw wrong(`a sample of the format ${format} has ${name} ${shown(fields[name])}`, what);
  return sample as FormatSample;
}

/** Words of 32 bits that a field of a row has. */
const ROW_FIELDS = { event: 1, pid: 1, tid: 1, ip: 2, period: 2, timeNs: 2, chain: 2 } as const;
const OPTIONAL_ROW_FIELDS: ReadonlySet<string> = new Set(['timeNs', 'chain']);

/** The same for rows: their shape once, and the event of each. */
export function checkRows(format: string, given: unknown, events: number): SampleRows {
  const refuse = (name: string, value: unknown, what: string): never => {
    throw wrong(`toRows of the format ${format} gives ${name === '' ? '' : `${name} `}${shown(value)}`, what);
  };
  if (typeof given !== 'object' || given === null) refuse('', given, 'rows, an object, or null');
  const rows = given as SampleRows;
  const { words, rowWords, count, places, at, cpu, timeNs, timesNs, chains } = rows;
  if (!(words instanceof Uint32Array)) refuse('words', words, 'a Uint32Array');
  if (!(Number.isInteger(rowWords) && rowWords > 0)) refuse('rowWords', rowWords, 'a whole number above 0');
  if (!(Number.isInteger(count) && count >= 0)) refuse('count', count, 'a whole number');
  if (places !== undefined && !(places instanceof Uint32Array && places.length >= count))
    refuse('places', places, `a Uint32Array of ${count} at least`);
  if (typeof at !== 'object' || at === null) refuse('at', at, 'an object');
  for (const [name, size] of Object.entries(ROW_FIELDS)) {
    const word = at[name as keyof typeof at];
    if (word === undefined && OPTIONAL_ROW_FIELDS.has(name)) continue;
    if (!(Number.isInteger(word) && word! >= 0 && word! + size <= rowWords))
      refuse(`at.${name}`, word, `a word of a row of ${rowWords}, with room for ${size}`);
  }
  if (!isU32(cpu)) refuse('cpu', cpu, U32[1]);
  if (at.timeNs === undefined && !isU64(timeNs)) refuse('timeNs', timeNs, U64[1]);
  if (timesNs !== undefined && !(timesNs instanceof BigUint64Array && timesNs.length >= count))
    refuse('timesNs', timesNs, `a BigUint64Array of ${count} at least`);
  if (at.chain !== undefined && chains !== undefined && !(chains instanceof Uint32Array))
    refuse('chains', chains, 'a Uint32Array');
  for (let index = 0; index < count; index++) {
    const start = rowStart(rows, index);
    if (start + rowWords > words.length)
      refuse('a row', places?.[index] ?? index, `one of the ${Math.floor(words.length / rowWords)} in words`);
    const event = words[start + at.event]!;
    if (event >= events) refuse('a row with event', event, eventNumbers(events));
  }
  return rows;
}

function eventNumbers(events: number): string {
  return events === 1 ? '0, its only event' : `one of its events, from 0 to ${events - 1}`;
}

const MOST_SHOWN = 40;

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, MOST_SHOWN)}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return 'a plain array';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

function wrong(what: string, expected: string): CounterpointError {
  return new CounterpointError(
    'ERR_FORMAT_SAMPLE',
    `${what}; it must be ${expected}`,
    'The recording has what is in the rings.',
  );
}
