import {
  MOST_RANGE_VALUES,
  nearestNames,
  parseCount,
  parseDurationMs,
  parseNumber,
  parseRanges,
  parseSizeBytes,
} from '@counterpoint/core/base';
import type { CommonName } from './option-row.ts';
import { UsageError } from './usage-error.ts';

/** One option as it stood on the command line. */
export interface GivenOption<Name extends string = string> {
  readonly name: Name;
  /** As it was typed, with its dashes: what messages call it. */
  readonly shown: string;
  /** `null` for a switch. */
  readonly value: string | null;
  /** As `--no-NAME`. */
  readonly negated: boolean;
}

export interface Bounds {
  min?: number;
  max?: number;
  /** Behind both, where they are shown. */
  unit?: string;
}

/**
 * What the command line said, asked for by option name. Every getter that finds a
 * bad value throws `UsageError`.
 */
export class ParsedArguments<Name extends string = string> {
  /** Every option in the order given: some, as perf's `--filter`, apply to the one before. */
  readonly given: readonly GivenOption<Name>[];
  /** What is not an option: file names, or the command and its arguments. */
  readonly words: readonly string[];
  readonly #byName = new Map<string, GivenOption<Name>[]>();

  /** `--` stood before the words. */
  readonly isSeparated: boolean;

  constructor(
    names: readonly string[],
    given: readonly GivenOption<Name>[],
    words: readonly string[],
    isSeparated = false,
  ) {
    this.given = given;
    this.words = words;
    this.isSeparated = isSeparated;
    for (const name of names) this.#byName.set(name, []);
    for (const option of given) this.#byName.get(option.name)!.push(option);
  }

  #uses(name: string): GivenOption<Name>[] {
    const uses = this.#byName.get(name);
    if (uses === undefined) throw new Error(`no option is named ${name}`);
    return uses;
  }

  #last(name: string): GivenOption<Name> | undefined {
    const uses = this.#uses(name);
    return uses[uses.length - 1];
  }

  /** The option as it was typed last (`-C`, `--cpu`), or by its name where it was not. */
  shown(name: Name | CommonName): string {
    return this.#last(name)?.shown ?? optionText(name);
  }

  /** Given at all, also as `--no-NAME`. */
  has(name: Name | CommonName): boolean {
    return this.#uses(name).length > 0;
  }

  /** A switch: the last use decides between NAME and no-NAME. */
  boolean(name: Name | CommonName): boolean;
  boolean<Default>(name: Name | CommonName, otherwise: Default): boolean | Default;
  boolean(name: string, otherwise: unknown = false): unknown {
    const use = this.#last(name);
    return use === undefined ? otherwise : !use.negated;
  }

  /** How often a switch was given: `-vv` is 2. */
  count(name: Name | CommonName): number {
    return this.#uses(name).filter((use) => !use.negated).length;
  }

  /** The last value; `undefined` when not given, or when taken back with `--no-NAME`. */
  string(name: Name): string | undefined;
  string(name: Name, otherwise: string): string;
  string(name: Name, otherwise?: string): string | undefined {
    return this.#last(name)?.value ?? otherwise;
  }

  /** Every value, in order; those before a `--no-NAME` are forgotten. */
  all(name: Name): string[] {
    const uses = this.#uses(name);
    const after = uses.findLastIndex((use) => use.negated) + 1;
    return uses.slice(after).map((use) => use.value ?? '');
  }

  /** Every value, split at commas; empty pieces are left out, but a value has to have one that is not. */
  list(name: Name): string[] {
    return this.all(name).flatMap((value) => {
      const pieces = value.split(',').filter((piece) => piece.trim() !== '');
      if (pieces.length === 0) throw badValue(this.shown(name), value, 'a list that is not empty');
      return pieces;
    });
  }

  /** Names that may hold commas themselves, as functions of C++ do: each value as it is, and its pieces. */
  names(name: Name): string[] {
    return [...this.all(name), ...this.list(name)];
  }

  #parse<Value, Default>(
    name: Name,
    bounds: Bounds,
    otherwise: Default,
    parse: (text: string) => Value | null,
    expected: string,
  ): Value | Default {
    const text = this.#last(name)?.value;
    if (text === undefined || text === null) return otherwise;
    const value = parse(text);
    if (value === null) throw badValue(this.shown(name), text, tooLarge(text, parse) ?? expected);
    if (typeof value === 'number') checkBounds(this.shown(name), text, value, bounds);
    return value;
  }

  /** A decimal number, with a fraction only when `fraction` is set. */
  number(name: Name, bounds?: Bounds & { fraction?: boolean }): number | undefined;
  number<Default>(name: Name, bounds: Bounds & { fraction?: boolean }, otherwise: Default): number | Default;
  number(name: Name, bounds: Bounds & { fraction?: boolean } = {}, otherwise?: unknown): unknown {
    const fraction = bounds.fraction === true;
    return this.#parse(
      name,
      bounds,
      otherwise,
      (text) => parseNumber(text, fraction),
      fraction ? 'a number' : 'a whole number',
    );
  }

  /** A whole number that may end in k, M or G, thousands: `25k` is 25000. */
  quantity(name: Name, bounds?: Bounds): number | undefined;
  quantity<Default>(name: Name, bounds: Bounds, otherwise: Default): number | Default;
  quantity(name: Name, bounds: Bounds = {}, otherwise?: unknown): unknown {
    return this.#parse(name, bounds, otherwise, parseCount, 'a whole number such as 4000 or 25k');
  }

  /** Bytes; B, K, M, G and T are steps of 1024, as in perf. */
  sizeBytes(name: Name, bounds?: Bounds): number | undefined;
  sizeBytes<Default>(name: Name, bounds: Bounds, otherwise: Default): number | Default;
  sizeBytes(name: Name, bounds: Bounds = {}, otherwise?: unknown): unknown {
    return this.#parse(name, bounds, otherwise, parseSizeBytes, 'a size such as 65536, 512K or 10M');
  }

  /**
   * Milliseconds; a bare number is milliseconds too, as in perf's `-D` and `-I`; ns,
   * us, ms, s, m and h are known.
   */
  durationMs(name: Name, bounds?: Bounds): number | undefined;
  durationMs<Default>(name: Name, bounds: Bounds, otherwise: Default): number | Default;
  durationMs(name: Name, bounds: Bounds = {}, otherwise?: unknown): unknown {
    const limits = { unit: ' ms', ...bounds };
    return this.#parse(name, limits, otherwise, parseDurationMs, 'a time such as 100, 100ms or 2s');
  }

  /** Every whole number of a list: `-p 12,15`. */
  numbers(name: Name, bounds: Bounds = {}): number[] {
    return this.list(name).map((text) => {
      const value = parseNumber(text, false);
      if (value === null) throw badValue(this.shown(name), text, 'whole numbers separated by commas');
      checkBounds(this.shown(name), text, value, bounds);
      return value;
    });
  }

  /** A list with ranges, sorted and without repeats: `-C 0-3,8`. */
  ranges(name: Name, bounds: Bounds = {}): number[] {
    const found = new Set<number>();
    for (const text of this.all(name)) {
      const values = parseRanges(text);
      if (values === null) {
        const form = /^(?:\s*\d+(?:-\d+)?\s*(?:,|$))+$/.test(text);
        const isAscending = text.split(',').every((piece) => {
          const [from, to = from] = piece.split('-').map(Number);
          return from! <= to!;
        });
        const expected =
          form && isAscending ? `at most ${MOST_RANGE_VALUES} numbers` : 'numbers and ranges such as 0-3,8';
        throw badValue(this.shown(name), text, expected);
      }
      for (const value of values) {
        checkBounds(this.shown(name), text, value, bounds);
        found.add(value);
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  /** One of a few words. */
  choice<const Choice extends string>(name: Name, choices: readonly Choice[]): Choice | undefined;
  choice<const Choice extends string>(name: Name, choices: readonly Choice[], otherwise: Choice): Choice;
  choice(name: Name, choices: readonly string[], otherwise?: string): string | undefined {
    const text = this.#last(name)?.value;
    if (text === undefined || text === null) return otherwise;
    if (choices.includes(text)) return text;
    const near = nearestNames(text, choices, 1)[0];
    throw badValue(
      this.shown(name),
      text,
      `one of ${choices.join(', ')}`,
      near === undefined ? '' : `Did you mean ${near}?`,
    );
  }

  /** The error for a value that only the verb can judge, in the same words as the others. */
  refuse(name: Name, expected: string, remedy = ''): UsageError {
    return badValue(this.shown(name), this.#last(name)?.value ?? '', expected, remedy);
  }
}

/** `--name`, or `-n` for a name of one letter. */
function optionText(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

/**
 * What is expected of a number whose size alone is wrong: the same form with a
 * small number is read. Else null.
 */
function tooLarge(text: string, parse: (text: string) => unknown): string | null {
  const small = text.replace(/^\+?\d+/, '1');
  return small !== text && small.length < text.length && parse(small) !== null
    ? `at most ${Number.MAX_SAFE_INTEGER}`
    : null;
}

function badValue(shown: string, text: string, expected: string, remedy = ''): UsageError {
  return new UsageError(`${shown} expects ${expected}, not '${text}'`, remedy);
}

function checkBounds(shown: string, text: string, value: number, bounds: Bounds): void {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, unit = '' } = bounds;
  if (value >= min && value <= max) return;
  const limits =
    max === Number.POSITIVE_INFINITY
      ? `at least ${min}`
      : min === Number.NEGATIVE_INFINITY
        ? `at most ${max}`
        : `from ${min} to ${max}`;
  throw new UsageError(`${shown} expects a value ${limits}${unit}, not '${text}'`);
}
