import { CounterpointError } from '@counterpoint/core/base';
import type { FormatOption } from './format-option.ts';

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

/** Throws `ERR_FORMAT_MODULE` for what is no format. `what` begins the message. */
export function checkFormat(what: string, found: unknown): void {
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
