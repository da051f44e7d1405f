import { defineVerb } from '../common/args.ts';
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
    { long: 'no-aggr', short: 'A', help: 'each CPU for itself', group: PLACES },
    { long: 'global', help: 'all in one, however it was recorded', group: PLACES },
    { long: 'per-core', help: 'each core for itself', group: PLACES },
    { long: 'per-die', help: 'each die for itself', group: PLACES },
    { long: 'per-socket', help: 'each socket for itself', group: PLACES },
    { long: 'per-node', help: 'each NUMA node for itself', group: PLACES },
    { long: 'per-thread', help: 'each thread for itself', group: PLACES },
    { long: 'summary', help: 'of a recording with intervals: the sums, too', group: PLACES },
    ...formOptions(OUTPUT),
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write (default standard output)',
      group: OUTPUT,
    },
    ...appendOptions(OUTPUT),
    { long: 'table', help: 'of several runs: the time of each', group: OUTPUT },
  ],
  examples: [
    ['stat report', 'the counts of perf.data, as they were printed live'],
    ['stat report -i counts.data --per-socket', 'of counts of whole CPUs: by socket'],
    ['stat report -i counts.data --json', 'one answer with everything'],
  ],
  async run(context) {
    const { runStatReport } = await import('./report-run.ts');
    return await runStatReport(context);
  },
});
