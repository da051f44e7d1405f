import { hasRawUserStacks } from '@counterpoint/core/unwind';
import type { Recording } from '../../host/open/index.ts';
import type { OptionRow } from './option-row.ts';
import type { ParsedArguments } from './parsed-arguments.ts';

export type SourceName = 'inline' | 'full-source-path';

export const INLINE_OPTION: OptionRow<'inline'> = {
  long: 'inline',
  help: 'show the functions that the compiler inlined as callees of those that they are in, by debug information (default for call chains of --call-graph dwarf; --no-inline: none)',
  negatable: true,
  group: 'Source',
};

/** What debug information tells of the source, and how it is shown. */
export const SOURCE_OPTIONS: OptionRow<SourceName>[] = [
  INLINE_OPTION,
  {
    long: 'full-source-path',
    help: 'print whole paths of source files in place of their names',
    group: 'Source',
  },
];

/**
 * Whether inlined functions are shown: as is asked for, else where perf shows them, in unwound call chains.
 */
export async function showsInlined(
  args: Pick<ParsedArguments<'inline'>, 'has' | 'boolean'>,
  recording: Recording,
  hasChains: boolean,
): Promise<boolean> {
  if (args.has('inline')) return args.boolean('inline');
  if (!hasChains || recording.isStream) return false;
  return (await recording.reader()).events.events.some(hasRawUserStacks);
}
