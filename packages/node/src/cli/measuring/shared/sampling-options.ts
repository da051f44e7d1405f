import { optional } from '@counterpoint/core/base';
import type { RecordOptions } from '../../../linux/sample/record/index.ts';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import { eventTablesOption } from './event-tables.ts';

/** What is sampled, and how often. */
export type SamplingName = 'event' | 'event-tables' | 'freq' | 'count';

/** Rows of every verb that samples. `more` is added to the help of --event. */
export function samplingOptions(group: string, more = ''): OptionRow<SamplingName>[] {
  return [
    {
      long: 'event',
      short: 'e',
      value: 'EVENT,...',
      help: `what to sample (default cycles, or cpu-clock if the CPU offers no cycles)${more}`,
      repeat: true,
      group,
    },
    eventTablesOption(group),
    {
      long: 'freq',
      short: 'F',
      value: 'HZ',
      help: 'samples per second (default 4000); max: as many as the kernel allows',
      group,
    },
    { long: 'count', short: 'c', value: 'N', help: 'one sample for every N events, instead of -F', group },
  ];
}

export function nodeNamesOption(group: string): OptionRow<'node-names'> {
  return {
    long: 'node-names',
    negatable: true,
    help: 'make Node write names of JavaScript functions to /tmp/perf-PID.map, by flags in NODE_OPTIONS\n(default if the command is Node or may start it: npm, npx, a shell, env, timeout, make, ...)',
    group,
  };
}

type Arguments = Pick<
  ParsedArguments<SamplingName | 'node-names'>,
  'has' | 'string' | 'all' | 'quantity' | 'boolean'
>;

/** What these rows say, as far as they were given. */
export function samplingRequest(
  args: Arguments,
): Pick<RecordOptions, 'events' | 'frequency' | 'period' | 'nodeNames'> {
  if (args.has('freq') && args.has('count'))
    throw new UsageError(
      '--freq and --count exclude each other',
      'Give -c for one sample every N events, or -F for samples per second.',
    );
  const frequency = args.string('freq') === 'max' ? 'max' : args.quantity('freq', { min: 1 });
  const period = args.quantity('count', { min: 1 });
  return {
    ...(args.has('event') ? { events: args.all('event') } : {}),
    ...optional({ frequency, period }),
    ...(args.has('node-names') ? { nodeNames: args.boolean('node-names') } : {}),
  };
}
