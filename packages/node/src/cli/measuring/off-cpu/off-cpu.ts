import { defineVerb } from '../../common/args.ts';
import { nodeNamesOption } from '../shared/sampling-options.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';

export type OffCpuName =
  | Exclude<TargetName, 'cpu' | 'delay'>
  | 'node-names'
  | 'input'
  | 'ready'
  | 'limit'
  | 'json'
  | 'fail-on-loss'
  | 'quiet';

const TARGET = 'Target';
const ANSWER = 'Answer';

export default defineVerb<OffCpuName>({
  name: 'off-cpu',
  needsLinux: true,
  summary: 'show who waits where, and for how long',
  usage: [
    '[options] [--] COMMAND [ARGUMENTS]',
    '[options] -p PID | -t TID | -a [[--] COMMAND]',
    '--input FILE',
  ],
  command: true,
  options: [
    ...targetOptions(TARGET).filter(isOurs),
    nodeNamesOption(TARGET),
    {
      long: 'input',
      value: 'FILE',
      help: 'watch nothing, and answer from a recording made with record --off-cpu',
      group: TARGET,
    },
    {
      long: 'ready',
      negatable: true,
      help: 'also count time in which a thread was ready and no CPU was free (the default)',
      group: ANSWER,
    },
    { long: 'limit', short: 'n', value: 'N', help: 'rows of each table (default 20)', group: ANSWER },
    { long: 'json', help: 'the answer as JSON, with all rows', group: ANSWER },
    {
      long: 'fail-on-loss',
      help: 'exit with 3 if something was lost and the command gave 0',
      group: 'General',
    },
    { long: 'quiet', short: 'q', help: 'print the answer and errors only', group: 'General' },
  ],
  examples: [
    ['off-cpu -- node app.js', 'where a Node program waits, with JavaScript names'],
    ['off-cpu -p 1234', 'a running process, until Ctrl-C'],
    ['off-cpu -p 1234 -- sleep 10', 'the same, for ten seconds'],
    ['off-cpu --json -- make | jq .rows[0]', 'as JSON: the longest wait'],
    ['record --off-cpu -g -- ./program', 'into a file, for flame graphs and more: off-cpu --input perf.data'],
  ],
  async run(context) {
    const { runOffCpu } = await import('./run.ts');
    return await runOffCpu(context);
  },
});

/**
 * Threads are off the CPU: a CPU is no target, and what waits from before the start counts from the start.
 */
function isOurs<Row extends { long: string }>(
  row: Row,
): row is Row & { long: Exclude<TargetName, 'cpu' | 'delay'> } {
  return row.long !== 'cpu' && row.long !== 'delay';
}
