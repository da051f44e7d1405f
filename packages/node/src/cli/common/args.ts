import { printable } from '@counterpoint/core/base';
import { COMMON_OPTIONS, type OptionRow } from './option-row.ts';
import type { Output } from './output.ts';
import type { ParsedArguments } from './parsed-arguments.ts';
import { UsageError } from './usage-error.ts';

export interface VerbContext<Name extends string = string> {
  readonly args: ParsedArguments<Name>;
  /** Standard output: results. */
  readonly out: Output;
  /** Standard error: notes, warnings, progress. */
  readonly err: Output;
}

export interface Verb<Name extends string = string> {
  readonly name: string;
  readonly summary: string;
  /** What follows `counterpoint NAME`, one line per form. */
  readonly usage: string | readonly string[];
  /** The verb runs a command: options end at the first word that is not one. */
  readonly command?: boolean;
  /** The verb asks the kernel for something that only Linux has; a function says for which words. */
  readonly needsLinux?: boolean | ((words: readonly string[]) => boolean);
  readonly options: readonly OptionRow<Name>[];
  /** Words after `counterpoint`, and what they do. */
  readonly examples: readonly (readonly [string, string])[];
  /** Gives the exit status. Heavy modules are imported in here, so that help stays quick. */
  run(context: VerbContext<Name>): Promise<number> | number;
}

/** A verb as data; the names of its options are checked where `run` asks for them. */
export function defineVerb<const Name extends string>(verb: Verb<Name>): Verb<Name> {
  const seen = new Set<string>();
  for (const row of verb.options) {
    for (const name of [row.long, row.short]) {
      if (name === undefined || (name === row.short && row.short === row.long)) continue;
      if (seen.has(name)) throw new Error(`counterpoint ${verb.name} declares the option ${name} twice`);
      seen.add(name);
    }
  }
  return verb;
}

/** The verb's rows and the common ones that it does not replace. */
export function allOptions(verb: Verb): readonly OptionRow[] {
  const longs = new Set(verb.options.map((row) => row.long));
  const shorts = new Set(verb.options.map((row) => row.short));
  const common = COMMON_OPTIONS.filter((row) => !longs.has(row.long)).map((row): OptionRow => {
    if (!shorts.has(row.short)) return row;
    const { short: _, ...rest } = row;
    return rest;
  });
  return [...verb.options, ...common];
}

/** For verbs, and answers of verbs, that take options only. */
export function refuseWords({ words: [word] }: { readonly words: readonly string[] }): void {
  if (word !== undefined)
    throw new UsageError(
      `there is a word too many: ${printable(word)}`,
      'Give options only; --help lists them.',
    );
}

/** Exit statuses: perf's 129 for usage; 3 is ours. `record` and `stat` otherwise pass on the child's. */
export const EXIT_OK = 0;
export const EXIT_FAILURE = 1;
export const EXIT_LOSS = 3;
export const EXIT_USAGE = 129;
