import { defineVerb } from '../../common/args.ts';
import type { OptionRow } from '../../common/option-row.ts';
import { nodeNamesOption, type SamplingName, samplingOptions } from '../shared/sampling-options.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';

export type TopName =
  | Exclude<TargetName, 'delay'>
  | SamplingName
  | 'delay'
  | 'zero'
  | 'sort'
  | 'comms'
  | 'dsos'
  | 'symbols'
  | 'hide_kernel_symbols'
  | 'hide_user_symbols'
  | 'idle'
  | 'lines'
  | 'show-nr-samples'
  | 'refreshes'
  | 'once'
  | 'json'
  | 'stdio'
  | 'node-names'
  | 'quiet';

const TARGET = 'Target';
const EVENTS = 'Events';
const ROWS = 'Rows';
const OUTPUT = 'Output';

const isTarget = (row: OptionRow<TargetName>): row is OptionRow<Exclude<TargetName, 'delay'>> =>
  row.long !== 'delay';

export default defineVerb<TopName>({
  name: 'top',
  needsLinux: true,
  summary: 'show which functions run, while they run',
  usage: ['[options]', '[options] -p PID | -t TID | -C CPUS', '[options] [--] COMMAND [ARGUMENTS]'],
  command: true,
  options: [
    ...targetOptions(TARGET).filter(isTarget),
    ...samplingOptions(EVENTS, '; the key e changes between several'),
    {
      long: 'delay',
      short: 'd',
      value: 'SECONDS',
      help: 'time from one table to the next (default 2); also 500ms',
      group: EVENTS,
    },
    {
      long: 'zero',
      short: 'z',
      help: 'count each table from zero; by default, earlier samples lose an eighth at each refresh, as in perf top',
      group: EVENTS,
    },
    {
      long: 'sort',
      short: 's',
      value: 'KEYS',
      help: 'what makes a row: comm, dso, symbol, pid, tier, copy (default dso,symbol)',
      group: ROWS,
    },
    { long: 'comms', value: 'NAME,...', help: 'only these commands', repeat: true, group: ROWS },
    { long: 'dsos', value: 'NAME,...', help: 'only functions of these binaries', repeat: true, group: ROWS },
    {
      long: 'symbols',
      value: 'NAME,...',
      help: 'only these functions; for JavaScript the name alone is enough',
      repeat: true,
      group: ROWS,
    },
    { long: 'hide_kernel_symbols', short: 'K', help: 'leave out the kernel', group: ROWS },
    { long: 'hide_user_symbols', short: 'U', help: 'leave out user space', group: ROWS },
    { long: 'idle', help: 'show functions in which a CPU waits for work, too', group: ROWS },
    {
      long: 'lines',
      short: 'n',
      value: 'N',
      help: 'at most N rows (default: what fits; 20 if the output is no terminal; all with --json)',
      group: ROWS,
    },
    { long: 'show-nr-samples', help: 'add a column with the number of samples', group: ROWS },
    {
      long: 'refreshes',
      short: 'r',
      value: 'N',
      help: 'print N tables one below the other, then end',
      group: OUTPUT,
    },
    { long: 'once', help: 'one table: -r 1', group: OUTPUT },
    { long: 'json', help: 'a line of JSON for each table', group: OUTPUT },
    {
      long: 'stdio',
      help: 'print tables one below the other, also on a terminal',
      group: OUTPUT,
    },
    nodeNamesOption(OUTPUT),
    { long: 'quiet', short: 'q', help: 'print errors and tables only', group: 'General' },
  ],
  examples: [
    ['top', 'everything on this machine; h shows the keys, q ends it'],
    ['top -p 1234 -d 0.5', 'a running process, twice a second'],
    ['top -F 999 -s comm', 'which programs the time goes to'],
    ['top --once -d 5 -n 10', 'one table of five seconds, as text'],
    [
      'top -r 3 --json -- ./program | jq .events[0].rows[0]',
      'for a script; the output of the program goes to standard error',
    ],
  ],
  async run(context) {
    const { runTop } = await import('./run.ts');
    return await runTop(context);
  },
});
