/** `--calls`: each call and return of a hardware trace, in place of samples. */
import { CounterpointError } from '@counterpoint/core/base';
import type { ExportFormat } from '@counterpoint/core/export';
import { mayHoldTrace } from '@counterpoint/core/perfdata';
import type { ProfileEvent } from '@counterpoint/core/profile';
import type { ItraceOptions } from '@counterpoint/trace/perf';
import type { Recording } from '../../../host/open/index.ts';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { ExportName } from './export-name.ts';

export const CALLS_OPTION: OptionRow<'calls'> = {
  long: 'calls',
  negatable: true,
  help: 'show each call and return of the trace in time, in place of samples (default for perfetto and chrome)',
  group: 'Hardware trace',
};

/** The event of such samples. */
const CALLS = 'calls';

/** What is made of the trace for `--calls`; null where samples are shown. */
export async function callSteps(
  args: ParsedArguments<ExportName>,
  format: ExportFormat,
  recording: Recording,
): Promise<ItraceOptions | null> {
  const isAsked = isCallsAsked(args);
  if (isAsked && args.has('itrace'))
    throw new UsageError(
      '--calls and --itrace exclude each other: both say what is made of the trace',
      'Leave out --itrace.',
    );
  if (!isAsked && (args.has('itrace') || args.has('calls') || format.needsTimes !== true)) return null;
  if (!mayHoldTrace(await recording.reader())) {
    if (isAsked) throw noTrace(recording);
    return null;
  }
  const { NO_ITRACE } = await import('@counterpoint/trace/perf');
  return { ...NO_ITRACE, callSteps: true, errors: true };
}

/** The event of calls; null: another one is to be chosen. */
export function chosenCalls(
  args: ParsedArguments<ExportName>,
  recording: Recording,
  events: readonly ProfileEvent[],
): number | null {
  const at = events.findIndex(({ name }) => name === CALLS);
  if (at < 0 && isCallsAsked(args)) throw noTrace(recording);
  return at < 0 || args.has('event') ? null : at;
}

/** What a timeline does not show where its event is not that of calls; null where nothing is to be said. */
export function sampledNote(format: ExportFormat, event: ProfileEvent | undefined): string | null {
  if (format.needsTimes !== true || event === undefined || event.name === CALLS) return null;
  return 'this is a timeline of samples: a function lasts from one sample to another, and calls between them are not seen. To see each call, record a trace: counterpoint pt record';
}

function isCallsAsked(args: ParsedArguments<ExportName>): boolean {
  return args.has('calls') && args.boolean('calls');
}

function noTrace({ name }: Recording): CounterpointError {
  return new CounterpointError(
    'ERR_NO_TRACE',
    `${name} has no hardware trace, and samples do not tell of each call`,
    'Record one: counterpoint pt record -- COMMAND. For samples, leave out --calls.',
  );
}
