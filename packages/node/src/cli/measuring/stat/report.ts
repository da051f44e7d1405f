import { defineVerb } from '../../common/args.ts';
import { appendOptions, formOptions } from './output-options.ts';

export type StatReportName =
  | 'input'
  | 'no-aggr'
  | 'global'
  | 'per-core'
  | 'per-die'
  | 'per-socket'
  | 'per-node'
  | 'per-thread'
  | 'summary'
  | 'field-separator'
  | 'json-output'
  | 'json'
  | 'output'
  | 'append'
  | 'big-num'
  | 'table';

const INPUT = 'Input';
const PLACES = 'Counts by place and time';
const OUTPUT = 'Output';

export default defineVerb<StatReportName>({
  name: 'stat report',
  summary: 'show the counts that stat record kept, as stat shows them',
  usage: ['[options]', '[options] FILE'],
  options: [
    {
      long: 'input',
      short: 'i',
      value: 'FILE',
      help: 'the recording; `-` for standard input (default perf.data)',
      group: INPUT,
    },
    { long: 'no-aggr', short: 'A', help: 'a row for each CPU', group: PLACES },
    { long: 'global', help: 'one row for everything, however it was recorded', group: PLACES },
    { long: 'per-core', help: 'a row for each core', group: PLACES },
    { long: 'per-die', help: 'a row for each die', group: PLACES },
    { long: 'per-socket', help: 'a row for each socket', group: PLACES },
    { long: 'per-node', help: 'a row for each NUMA node', group: PLACES },
    { long: 'per-thread', help: 'a row for each thread', group: PLACES },
    { long: 'summary', help: 'for a recording with intervals: also print the sums', group: PLACES },
    ...formOptions(OUTPUT),
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write (default standard output)',
      group: OUTPUT,
    },
    ...appendOptions(OUTPUT),
    { long: 'table', help: 'for several runs: print the time of each', group: OUTPUT },
  ],
  examples: [
    ['stat report', 'the counts of perf.data, as they were printed live'],
    ['stat report -i counts.data --per-socket', 'counts of whole CPUs, by socket'],
    ['stat report -i counts.data --json', 'one answer with everything'],
  ],
  async run(context) {
    const { runStatReport } = await import('./report-run.ts');
    return await runStatReport(context);
  },
});
