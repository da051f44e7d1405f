import { optional } from '@counterpoint/core/base';
import type { OptionRow } from './option-row.ts';
import type { ParsedArguments } from './parsed-arguments.ts';
import { UsageError } from './usage-error.ts';

/** perf's `--group`: all events of -e are one group, as if they stood in braces. */
export function groupOption(group: string, short?: string): OptionRow<'group'> {
  const help = 'make one group of all events of -e: with others than {a,b} they are there, or not, together';
  return { long: 'group', help, group, ...optional({ short }) };
}

/** Ways to say events, or what concerns one of them, that a group of all has no place for. */
const OTHERS = ['filter', 'pfm-events', 'metrics', 'topdown', 'set', 'detailed'];

/** The texts of -e; with --group one text, in braces. */
export function eventTexts(
  args: Pick<ParsedArguments<'event' | 'group'>, 'all' | 'boolean'> & {
    readonly given: readonly { name: string; shown: string }[];
  },
): string[] {
  const texts = args.all('event');
  if (!args.boolean('group')) return texts;
  if (texts.length === 0)
    throw new UsageError(
      '--group makes a group of the events of -e, but there are none',
      'Name them: --group -e cycles,instructions',
    );
  const other = args.given.find(({ name }) => OTHERS.includes(name));
  if (other !== undefined)
    throw new UsageError(`--group does not go with ${other.shown}`, "Write the group in braces: -e '{a,b}'.");
  if (texts.some((text) => text.includes('{')))
    throw new UsageError(
      '--group makes one group of all events, but some are in a group already',
      'Leave out --group, or the braces.',
    );
  return [`{${texts.join(',')}}`];
}
