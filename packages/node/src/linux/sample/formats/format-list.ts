/** What formats there are and what options they take: their tables, for people and for scripts. */
import type { SamplingFormat } from './format.ts';
import type { FormatOption } from './format-option.ts';
import { optionWord } from './format-options.ts';
import { findFormat } from './registry.ts';

/** An option in words and in numbers. What does not apply to its type is null. */
export interface OptionDescription {
  /** `max-entries`. */
  readonly name: string;
  /** What kind of value it is. */
  readonly type: FormatOption['type'];
  /** As it is written: `max-entries=N`. */
  readonly form: string;
  /** What it does, in one line. */
  readonly help: string;
  /** The value where the option is not given. */
  readonly default: number | boolean | string;
  /** The default as it could be given: `64K`, `100ms`, `yes`; empty where it is no text. */
  readonly defaultText: string;
  /** The least number. */
  readonly min: number | null;
  /** The greatest number. */
  readonly max: number | null;
  /** The words that it takes. */
  readonly choices: readonly string[] | null;
}

/** A sampling format in words: what `list formats` shows. */
export interface FormatDescription {
  /** As it is asked for: a name, or the path of a module. */
  readonly format: string;
  /** The name of the format. */
  readonly name: string;
  /** The version of the format. */
  readonly version: number;
  /** What it does, in one line. */
  readonly summary: string;
  /** Its options, in the order of its table. */
  readonly options: readonly OptionDescription[];
}

/** The values of each type, in the form of an option. */
const FORMS: Readonly<Record<'count' | 'bytes' | 'duration' | 'text', string>> = {
  count: '=N',
  bytes: '=SIZE',
  duration: '=TIME',
  text: '=TEXT',
};

/**
 * A format and its options, by its name or by the path of its module. Throws ERR_NO_FORMAT where there is no
 * such name, and ERR_FORMAT_MODULE where the module cannot be loaded.
 */
export async function describeFormat(format: string): Promise<FormatDescription> {
  const { name, version, summary, options } = await findFormat(format);
  return { format, name, version, summary, options: describeOptions(options) };
}

export function describeOptions(table: SamplingFormat['options']): OptionDescription[] {
  return Object.entries(table).map(([key, row]) => {
    const name = optionWord(key);
    const form = formOf(row);
    const bounds: { readonly min?: number; readonly max?: number } = 'min' in row || 'max' in row ? row : {};
    return {
      name,
      type: row.type,
      form: name + form,
      help: row.help,
      default: row.default,
      defaultText: valueText(row),
      min: bounds.min ?? null,
      max: bounds.max ?? null,
      choices: row.type === 'choice' ? row.choices : null,
    };
  });
}

/** A switch that is off is given by its name alone. */
function formOf(row: FormatOption): string {
  if (row.type === 'choice') return `=${row.choices.join('|')}`;
  if (row.type === 'switch') return row.default ? '=no' : '';
  return FORMS[row.type];
}

const KIB = 1024;

function valueText(row: FormatOption): string {
  switch (row.type) {
    case 'switch':
      return row.default ? 'yes' : 'no';
    case 'duration':
      return row.default === 0 ? '0' : `${row.default}ms`;
    case 'bytes':
      return bytesText(row.default);
    default:
      return String(row.default);
  }
}

/** `64K` where it is that without a rest. */
function bytesText(bytes: number): string {
  const units = ['', 'K', 'M', 'G'];
  let [value, unit] = [bytes, 0];
  while (value !== 0 && value % KIB === 0 && unit < units.length - 1) {
    value /= KIB;
    unit++;
  }
  return `${value}${units[unit]}`;
}
