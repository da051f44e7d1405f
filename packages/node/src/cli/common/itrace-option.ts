/** `--itrace`: what to make of a hardware trace; shared by the verbs that show samples. */
import { mayHoldTrace } from '@counterpoint/core/perfdata';
import type { ItraceOptions } from '@counterpoint/trace/perf';
import type { Recording } from '../../host/open/index.ts';
import type { OptionRow } from './option-row.ts';
import type { ParsedArguments } from './parsed-arguments.ts';

export type ItraceName = 'itrace';

export const ITRACE_OPTION: OptionRow<ItraceName> = {
  long: 'itrace',
  value: 'LETTERS',
  optionalValue: '',
  negatable: true,
  help: 'make samples from a hardware trace (Intel PT), such as i100us or cr; for the letters see counterpoint help itrace; --no-itrace leaves the trace alone',
  group: 'Hardware trace',
};

/**
 * Whether a pipe is to be kept for its trace: where one is asked for, or where it has
 * one and nothing else was said.
 */
export function keepsStream(
  args: Pick<ParsedArguments<ItraceName>, 'string' | 'boolean'>,
): boolean | 'traced' {
  if (args.string('itrace') != null) return true;
  return args.boolean('itrace', true) ? 'traced' : false;
}

/**
 * The verb's own choice, unless letters are given. Null if the trace is to be left alone. With `recording`,
 * also null if no letters are given and it can have no trace: then the decoder is not loaded.
 */
export async function itraceOptions(
  args: Pick<ParsedArguments<ItraceName>, 'string' | 'boolean'>,
  otherwise: 'report' | 'script',
  forced?: string,
  recording?: Recording,
): Promise<ItraceOptions | null> {
  if (!args.boolean('itrace', true)) return null;
  const text = args.string('itrace') ?? '';
  const letters = forced ?? (text === '' ? null : text);
  if (letters === null && recording?.isStream === false && !mayHoldTrace(await recording.reader()))
    return null;
  const { parseItrace, REPORT_ITRACE, SCRIPT_ITRACE } = await import('@counterpoint/trace/perf');
  return parseItrace(letters ?? (otherwise === 'report' ? REPORT_ITRACE : SCRIPT_ITRACE));
}
