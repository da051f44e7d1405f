/** The options of a sampling format as a table, from which their values have their types. */

export interface FormatOptionRow<Type extends string, Value> {
  /** What kind of value it is. It decides how the text of `--format` is read. */
  readonly type: Type;
  /** The value where the option is not given. */
  readonly default: Value;
  /** One line. */
  readonly help: string;
}

/** Limits of a number. */
export interface FormatOptionBounds {
  /** The least value. Default: 0. */
  readonly min?: number;
  /** The greatest value. Default: none. */
  readonly max?: number;
}

/** Text forms: `20k` for a count, `64K` for bytes, `100ms` for a duration (milliseconds in the value). */
export type FormatOption =
  | (FormatOptionRow<'count', number> & FormatOptionBounds)
  | (FormatOptionRow<'bytes', number> & FormatOptionBounds)
  | (FormatOptionRow<'duration', number> & FormatOptionBounds)
  | FormatOptionRow<'switch', boolean>
  | FormatOptionRow<'text', string>
  | (FormatOptionRow<'choice', string> & { readonly choices: readonly string[] });

/** By name as programs write it (`maxEntries`); the command line says `max-entries`. */
export type FormatOptionTable = Readonly<Record<string, FormatOption>>;

/** The values of a table, with a default for whatever was not given. */
export type OptionValues<Table extends FormatOptionTable> = {
  readonly [Name in keyof Table]: Table[Name]['default'] extends number
    ? number
    : Table[Name]['default'] extends boolean
      ? boolean
      : string;
};
