import { existsSync } from 'node:fs';
import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import type { SamplingFormat } from './format.ts';
import { rememberModule } from './format-errors.ts';
import type { FormatOption } from './format-option.ts';
import { loadDefaultExport } from './load-module.ts';

/** Formats that are there without a file; loaded when they are asked for. */
const BUILT_IN: Readonly<Record<string, () => Promise<{ default: unknown }>>> = {
  ring: () => import('./formats/ring.ts'),
  histogram: () => import('./formats/histogram.ts'),
  stacks: () => import('./formats/stacks.ts'),
  'on-miss': () => import('./formats/on-miss.ts'),
  'off-cpu': () => import('./formats/off-cpu.ts'),
  'double-buffer': () => import('./formats/double-buffer.ts'),
  precise: () => import('./formats/precise.ts'),
};

/** The names of the sampling formats that Counterpoint brings along. */
export const builtInFormats: readonly string[] = Object.keys(BUILT_IN);

/** `NAME` or the path of a module: a path has a slash or an ending of JavaScript or TypeScript. */
const PATH = /\/|\.[cm]?[jt]s$/;

export interface FormatSpecification {
  readonly name: string;
  /** What stood after the first comma. */
  readonly options: string;
}

/** `NAME[,option=value]…` in its two parts. */
export function splitSpecification(text: string): FormatSpecification {
  const comma = text.indexOf(',');
  return comma < 0
    ? { name: text.trim(), options: '' }
    : { name: text.slice(0, comma).trim(), options: text.slice(comma + 1) };
}

/**
 * A format by its name, or a user's by its path. `specification`: the text that it is from, with its options.
 */
export async function findFormat(name: string, specification: string = name): Promise<SamplingFormat> {
  refuseComma(name, specification);
  if (PATH.test(name)) {
    const format = checkedFormat(`${name} exports no sampling format`, await loadDefaultExport(name));
    rememberModule(format, name);
    return format;
  }
  const load = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined;
  if (load === undefined)
    throw new CounterpointError(
      'ERR_NO_FORMAT',
      `there is no sampling format ${name === '' ? 'without a name' : name}${didYouMean(nearestNames(name, builtInFormats))}`,
      `There are ${builtInFormats.join(', ')}. Name a format of your own by its file: ./my-format.ts`,
    );
  return (await load()).default as SamplingFormat;
}

/** A file with a comma in its name, which nobody can have meant otherwise. */
function refuseComma(name: string, specification: string): void {
  if (name === specification || existsSync(name) || !existsSync(specification)) return;
  throw new CounterpointError(
    'ERR_FORMAT_MODULE',
    `there is no file ${name}`,
    `${specification} exists, but a comma begins the options of a format: name a link to it without a comma.`,
  );
}

/** What every format must have, by the type it has. */
const NEEDED = [
  ['name', 'string'],
  ['version', 'number'],
  ['summary', 'string'],
  ['options', 'object'],
  ['plan', 'function'],
  ['collect', 'function'],
] as const;

/** What it may have. */
const ALLOWED = ['onOverflow', 'onRestart', 'toSamples', 'toRows', 'describe'] as const;

/** Whatever a program or a module hands over as a format. `what` begins the message of an error. */
export function checkedFormat(what: string, found: unknown): SamplingFormat {
  const refuse = (why: string) => {
    throw new CounterpointError(
      'ERR_FORMAT_MODULE',
      `${what}: ${why}`,
      'A format is the result of defineFormat({ name, version, summary, options, plan, onOverflow, collect }).',
    );
  };
  if (typeof found !== 'object' || found === null) refuse(`it is ${missing(found)}, not an object`);
  const format = found as Record<string, unknown>;
  for (const [name, type] of NEEDED)
    if (typeof format[name] !== type || format[name] === null)
      refuse(`${name} is ${missing(format[name])}, not a ${type}`);
  for (const name of ALLOWED)
    if (format[name] !== undefined && typeof format[name] !== 'function') refuse(`${name} is no function`);
  for (const option of Object.keys(format['history'] ?? {}))
    if (!Object.hasOwn(format['options'] as object, option))
      refuse(`history has ${option}, which is no option`);
  for (const [option, row] of Object.entries(format['options'] as object)) {
    const problem = optionProblem(row);
    if (problem !== null) refuse(`its option ${option} ${problem}`);
  }
  // The kernel's names of programs and maps are made of it.
  if (!/^[A-Za-z][\w.-]*$/.test(String(format['name'])))
    refuse(`"${format['name']}" is not a name: use letters, digits, - and _`);
  return found as SamplingFormat;
}

/** By type what the default of an option is. */
const DEFAULTS: Readonly<Record<FormatOption['type'], string>> = {
  count: 'number',
  bytes: 'number',
  duration: 'number',
  switch: 'boolean',
  text: 'string',
  choice: 'string',
};

function optionProblem(row: unknown): string | null {
  if (typeof row !== 'object' || row === null) return `is ${missing(row)}, not an object`;
  const { type, default: value, help, choices } = row as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || !Object.hasOwn(DEFAULTS, type))
    return `is of type ${String(type)}, not one of ${Object.keys(DEFAULTS).join(', ')}`;
  const expected = DEFAULTS[type as FormatOption['type']];
  if (typeof value !== expected) return `has ${missing(value)} for a default, not a ${expected}`;
  if (typeof help !== 'string') return 'has no help';
  return type === 'choice' && !Array.isArray(choices) ? 'has no choices' : null;
}

function missing(value: unknown): string {
  return value === undefined ? 'missing' : value === null ? 'null' : `a ${typeof value}`;
}
