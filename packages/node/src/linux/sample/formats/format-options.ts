/**
 * The options of a sampling format: one table, from which come what `--format NAME,option=value` accepts,
 * what a program may give, their types, their defaults and their help.
 */
import {
  CounterpointError,
  didYouMean,
  MOST_TIMER_MS,
  nearestNames,
  parseCount,
  parseDurationMs,
  parseSizeBytes,
} from '@counterpoint/core/base';

import type { FormatOption, FormatOptionTable, OptionValues } from './format-option.ts';
import { builtInFormats } from './registry.ts';

/** Each kind of number: how its text is read, and what it is called where that fails. */
const NUMBERS = {
  count: { parse: parseCount, what: 'a whole number, such as 4096 or 16k' },
  bytes: { parse: parseSizeBytes, what: 'a size, such as 65536 or 64K' },
  duration: { parse: parseDurationMs, what: 'a time, such as 100ms or 1s' },
} as const;

const SWITCH_WORDS: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** `maxEntries` -> `max-entries`. */
export function optionWord(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The options of `option=value,option,…`; a switch may stand alone. Throws `ERR_FORMAT_OPTION`. */
export function parseFormatOptions<Table extends FormatOptionTable>(
  format: string,
  table: Table,
  text: string,
): OptionValues<Table> {
  const given: Record<string, unknown> = {};
  for (const piece of text === '' ? [] : text.split(',')) {
    const equals = piece.indexOf('=');
    const word = (equals < 0 ? piece : piece.slice(0, equals)).trim();
    const name = Object.keys(table).find((one) => optionWord(one) === word || one === word);
    if (name === undefined) throw unknownOption(format, table, word, optionWord);
    if (Object.hasOwn(given, name))
      throw new CounterpointError(
        'ERR_FORMAT_OPTION',
        `the option ${optionWord(name)} of the format ${format} is given twice`,
        'Give it once.',
      );
    given[name] = parseValue(format, word, table[name]!, equals < 0 ? null : piece.slice(equals + 1).trim());
  }
  return checkFormatOptions(format, table, given);
}

/** What a program gave, checked against the table, with defaults. Throws `ERR_FORMAT_OPTION`. */
export function checkFormatOptions<Table extends FormatOptionTable>(
  format: string,
  table: Table,
  given: Readonly<Record<string, unknown>>,
): OptionValues<Table> {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(table, name)) throw unknownOption(format, table, name, (one) => one);
  const values = Object.entries(table).map(([name, row]) => {
    const value = given[name];
    if (value === undefined) return [name, row.default];
    const expected = misfit(row, value);
    if (expected !== null) throw wrongValue(format, optionWord(name), row, String(value), expected);
    return [name, value];
  });
  return Object.fromEntries(values) as OptionValues<Table>;
}

function parseValue(format: string, word: string, row: FormatOption, text: string | null): unknown {
  if (row.type === 'switch') {
    if (text === null) return true;
    if (Object.hasOwn(SWITCH_WORDS, text)) return SWITCH_WORDS[text];
    throw wrongValue(format, word, row, text, 'yes or no');
  }
  if (text === null)
    throw new CounterpointError(
      'ERR_FORMAT_OPTION',
      `the format ${format} needs a value for ${word}: ${row.help}`,
      `Give ${word}=VALUE; without it, it is ${row.default}.`,
    );
  if (row.type === 'text' || row.type === 'choice') return text;
  const value = NUMBERS[row.type].parse(text);
  if (value === null) throw wrongValue(format, word, row, text, NUMBERS[row.type].what);
  return value;
}

/** What a value should have been; null where it is right. */
function misfit(row: FormatOption, value: unknown): string | null {
  if (row.type === 'switch') return typeof value === 'boolean' ? null : 'true or false';
  if (row.type === 'text') return typeof value === 'string' ? null : 'text';
  if (row.type === 'choice')
    return row.choices.some((choice) => choice === value) ? null : `one of ${row.choices.join(', ')}`;
  const isNumber = row.type === 'duration' ? Number.isFinite(value) : Number.isSafeInteger(value);
  const isDuration = row.type === 'duration';
  if (!isNumber) return isDuration ? 'a number of milliseconds' : NUMBERS[row.type].what;
  const { min = 0, max = isDuration ? MOST_TIMER_MS : Number.MAX_SAFE_INTEGER } = row;
  const number = value as number;
  if (number >= min && number <= max) return null;
  const unit = isDuration ? ' ms' : '';
  return max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `from ${min} to ${max}${unit}`;
}

function wrongValue(
  format: string,
  word: string,
  row: FormatOption,
  found: string,
  expected: string,
): CounterpointError {
  return new CounterpointError(
    'ERR_FORMAT_OPTION',
    `the option ${word} of the format ${format} is ${expected}, not ${found === '' ? 'nothing' : found}`,
    `It says: ${row.help}. Without it, it is ${row.default}.${moreHelp(format)}`,
  );
}

/** A format of the user's own is found by its path, which is not known here: its options are said instead. */
function moreHelp(format: string): string {
  return builtInFormats.includes(format) ? ` For more, see counterpoint list formats ${format}.` : '';
}

function unknownOption(
  format: string,
  table: FormatOptionTable,
  word: string,
  spell: (name: string) => string,
): CounterpointError {
  const names = Object.keys(table).map(spell);
  if (builtInFormats.includes(word))
    return new CounterpointError(
      'ERR_FORMAT_OPTION',
      `the format ${format} has no option ${word}, which is a format itself`,
      `Give two formats one by one: --format ${format} --format ${word}`,
    );
  return new CounterpointError(
    'ERR_FORMAT_OPTION',
    `the format ${format} has no option ${word === '' ? 'without a name' : `${word}${didYouMean(nearestNames(word, names))}`}`,
    names.length === 0 ? 'It has none.' : `Its options are ${names.join(', ')}.${moreHelp(format)}`,
  );
}
