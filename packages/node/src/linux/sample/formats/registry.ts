import { existsSync } from 'node:fs';
import { CounterpointError, checkArgument, didYouMean, nearestNames } from '@counterpoint/core/base';
import { checkFormat } from './check-format.ts';
import type { SamplingFormat } from './format.ts';
import { rememberModule } from './format-errors.ts';
import { loadDefaultExport } from './load-module.ts';

/** Formats that are there without a file; loaded when they are asked for. */
const BUILT_IN: Readonly<Record<string, () => Promise<{ default: unknown }>>> = {
  ring: () => import('./built-in/ring.ts'),
  histogram: () => import('./built-in/histogram.ts'),
  stacks: () => import('./built-in/stacks.ts'),
  'on-miss': () => import('./built-in/on-miss.ts'),
  unwind: () => import('./built-in/unwind.ts'),
  'off-cpu': () => import('./built-in/off-cpu.ts'),
  'double-buffer': () => import('./built-in/double-buffer.ts'),
  precise: () => import('./built-in/precise.ts'),
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
  checkArgument(
    typeof name === 'string',
    'findFormat()',
    'the name',
    name,
    'the name of a format, or its file',
  );
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

/** Whatever a program or a module hands over as a format. `what` begins the message of an error. */
export function checkedFormat(what: string, found: unknown): SamplingFormat {
  checkFormat(what, found);
  return found as SamplingFormat;
}
