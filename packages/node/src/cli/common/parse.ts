import { didYouMean, nearestNames } from '@counterpoint/core/base';
import { allOptions, type Verb } from './args.ts';
import type { OptionRow } from './option-row.ts';
import { type GivenOption, ParsedArguments } from './parsed-arguments.ts';
import { UsageError } from './usage-error.ts';

const EMPTY_REMEDY = 'Leave the option out for no limit. In a script, check that the variable is set.';

/**
 * Words of a command line by the conventions of perf (and git): `-F99`, `-F 99`, `--freq=99`, `--freq 99`,
 * `-ag`, `--no-inherit`, and any beginning of a long name that fits only one. `--` ends the options; so does
 * the first other word where the verb runs a command.
 */
export function parseArguments<Name extends string>(
  verb: Verb<Name>,
  words: readonly string[],
): ParsedArguments<Name> {
  const rows = allOptions(verb);
  const given: GivenOption[] = [];
  const rest: string[] = [];
  let at = 0;
  let isSeparated = false;

  const use = (row: OptionRow, attached: string | null, shown: string, negated = false) => {
    if (negated || row.value === undefined) {
      if (attached !== null) throw new UsageError(`${shown} takes no value`);
      given.push({ name: row.long, shown, value: null, negated });
      return;
    }
    let value = attached;
    const next = words[at];
    if (value === null && row.optionalValue !== undefined) {
      const follows = next !== undefined && mayFollow(row, next);
      value = follows ? next : row.optionalValue;
      if (follows) at++;
    } else if (value === null) {
      if (next === undefined) throw new UsageError(`${shown} requires a value (${row.value})`);
      value = next;
      at++;
    }
    if (value === '' && row.mayBeEmpty !== true)
      throw new UsageError(`${shown} has an empty value (${row.value})`, EMPTY_REMEDY);
    given.push({ name: row.long, shown, value, negated: false });
  };

  while (at < words.length) {
    const word = words[at++]!;
    if (word === '--') {
      isSeparated = true;
      rest.push(...words.slice(at));
      break;
    }
    if (word.startsWith('--')) {
      const equals = word.indexOf('=');
      const name = word.slice(2, equals < 0 ? undefined : equals);
      const { row, negated } = findLong(rows, name);
      use(row, equals < 0 ? null : word.slice(equals + 1), `--${negated ? 'no-' : ''}${row.long}`, negated);
    } else if (word.startsWith('-') && word.length > 1) {
      for (let letter = 1; letter < word.length; letter++) {
        const row = rows.find((row) => row.short === word[letter] || row.long === word[letter]);
        if (row === undefined) throw unknownLetter(rows, word, letter);
        const attached =
          row.value === undefined || letter + 1 === word.length ? null : word.slice(letter + 1);
        use(row, attached, `-${word[letter]}`);
        if (attached !== null) break;
      }
    } else if (verb.command === true) {
      rest.push(word, ...words.slice(at));
      break;
    } else {
      rest.push(word);
    }
  }
  return new ParsedArguments(
    rows.map((row) => row.long),
    given as GivenOption<Name>[],
    rest,
    isSeparated,
  );
}

/** Every long form that exists: the name itself, and its opposite. */
function mayFollow({ valueMayFollow = false }: OptionRow, word: string): boolean {
  return typeof valueMayFollow === 'boolean'
    ? valueMayFollow && !word.startsWith('-')
    : valueMayFollow.includes(word);
}

function longForms(rows: readonly OptionRow[]): { form: string; row: OptionRow; negated: boolean }[] {
  return rows.flatMap((row) => {
    if (row.long.length === 1) return [];
    const plain = { form: row.long, row, negated: false };
    return row.negatable === true ? [plain, { form: `no-${row.long}`, row, negated: true }] : [plain];
  });
}

function findLong(rows: readonly OptionRow[], name: string): { row: OptionRow; negated: boolean } {
  const forms = longForms(rows);
  const exact = forms.find(({ form }) => form === name);
  if (exact !== undefined) return exact;
  const begun = name === '' ? [] : forms.filter(({ form }) => form.startsWith(name));
  if (begun.length === 1) return begun[0]!;
  if (begun.length > 1) {
    const names = begun.map(({ form }) => `--${form}`);
    throw new UsageError(
      `--${name} is ambiguous: it could be ${names.slice(0, -1).join(', ')} or ${names[names.length - 1]}`,
    );
  }
  const near = nearestNames(
    name,
    forms.map(({ form }) => form),
  );
  throw new UsageError(`unknown option --${name}${didYouMean(near.map((form) => `--${form}`))}`);
}

function unknownLetter(rows: readonly OptionRow[], word: string, at: number): UsageError {
  const letter = String.fromCodePoint(word.codePointAt(at)!);
  const name = word.slice(1);
  const dashes = longForms(rows).find(({ form }) => name.length >= 3 && form.startsWith(name.split('=')[0]!));
  const hint = dashes === undefined ? '' : `; did you mean --${dashes.form} (with two dashes)?`;
  return new UsageError(`unknown switch -${letter}${word.length > 2 ? ` in ${word}` : ''}${hint}`);
}
