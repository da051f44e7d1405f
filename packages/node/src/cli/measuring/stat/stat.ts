import { defineVerb } from '../../common/args.ts';
import { groupOption } from '../../common/group-option.ts';
import { eventTablesOption } from '../shared/event-tables.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';
import { appendOptions, formOptions } from './output-options.ts';

export type StatName =
  | TargetName
  | 'cgroup'
  | 'for-each-cgroup'
  | 'control'
  | 'timeout'
  | 'repeat'
  | 'event'
  | 'group'
  | 'count-iterations'
  | 'soft-way'
  | 'on-function'
  | 'stop-after'
  | 'event-tables'
  | 'filter'
  | 'pfm-events'
  | 'metrics'
  | 'topdown'
  | 'detailed'
  | 'null'
  | 'all-user'
  | 'all-kernel'
  | 'set'
  | 'switch'
  | 'save-control'
  | 'control-data'
  | 'interval-print'
  | 'interval-count'
  | 'summary'
  | 'no-aggr'
  | 'no-merge'
  | 'per-core'
  | 'per-die'
  | 'per-socket'
  | 'per-node'
  | 'per-thread'
  | 'scale'
  | 'field-separator'
  | 'json-output'
  | 'json'
  | 'output'
  | 'append'
  | 'big-num'
  | 'table'
  | 'sync'
  | 'plan'
  | 'quiet';

const TARGET = 'Target';
const EVENTS = 'Events';
const SETS = 'Event sets';
const PLACES = 'Counts by place and time';
const OUTPUT = 'Output';

export default defineVerb<StatName>({
  name: 'stat',
  needsLinux: true,
  summary: 'count events of a program, of running processes or of the whole machine',
  usage: ['[options] [--] COMMAND [ARGUMENTS]', '[options] -p PID | -t TID | -a [[--] COMMAND]'],
  command: true,
  options: [
    ...targetOptions(TARGET),
    {
      long: 'cgroup',
      short: 'G',
      value: 'PATH',
      help: 'the tasks of a control group, by its path under the mount',
      group: TARGET,
    },
    {
      long: 'for-each-cgroup',
      value: 'PATH,...',
      help: 'the same events for each of several control groups',
      group: TARGET,
    },
    {
      long: 'control',
      value: 'PIPE',
      help: 'read commands from fifo:FILE[,FILE] or fd:N[,N], and answer ack: enable [EVENT],\ndisable [EVENT], evlist [-v|-g|-F], ping; -D -1 begins with everything off',
      group: TARGET,
    },
    { long: 'timeout', value: 'MS', help: 'end after MS milliseconds; 0: no limit', group: TARGET },
    {
      long: 'repeat',
      short: 'r',
      value: 'N',
      help: 'run the command N times, and print means and their spread; 0: repeat until Ctrl-C',
      group: TARGET,
    },
    {
      long: 'event',
      short: 'e',
      value: 'EVENT,...',
      help: 'what to count; {a,b} counts a group at one time (counterpoint list shows the names)',
      repeat: true,
      group: EVENTS,
    },
    groupOption(EVENTS, 'g'),
    {
      long: 'count-iterations',
      help: 'with soft/instructions/: also show each step of repeated string instructions',
      group: EVENTS,
    },
    {
      long: 'soft-way',
      value: 'step|fast',
      help: 'how soft events are counted: each instruction in a single step, or a translated copy of the code that counts itself, up to thousands of times faster (default: step)',
      group: EVENTS,
    },
    {
      long: 'on-function',
      value: '[FILE:]NAME',
      help: 'with soft events: step only calls of this function, and what they call; the rest runs freely',
      group: EVENTS,
    },
    {
      long: 'stop-after',
      value: 'N',
      help: 'with soft events: let the target go on by itself after N stepped instructions, such as 2M',
      group: EVENTS,
    },
    eventTablesOption(EVENTS),
    {
      long: 'filter',
      value: 'FILTER',
      help: 'count only those hits that match FILTER, for the tracepoints of the -e before this option',
      repeat: true,
      group: EVENTS,
    },
    {
      long: 'pfm-events',
      value: 'EVENT,...',
      help: "events in libpfm4's grammar (counterpoint list --pfm)",
      repeat: true,
      group: EVENTS,
    },
    {
      long: 'metrics',
      short: 'M',
      value: 'NAME,...',
      help: 'print metrics by name, such as ipc, and count the events that they need',
      repeat: true,
      group: EVENTS,
    },
    {
      long: 'topdown',
      help: 'where the slots of the pipeline went: retiring, bad speculation, front end, back end\n(Intel, Ice Lake and newer)',
      group: EVENTS,
    },
    {
      long: 'detailed',
      short: 'd',
      help: 'also count caches (with -e: the events of -e and caches); -dd adds TLBs, -ddd prefetches',
      group: EVENTS,
    },
    { long: 'null', short: 'n', help: 'count nothing, measure only the time', group: EVENTS },
    { long: 'all-user', help: 'user space only', group: EVENTS },
    { long: 'all-kernel', help: 'the kernel only', group: EVENTS },
    {
      long: 'set',
      value: 'EVENT,...',
      help: 'an event set; several sets are loaded in turn, and their counts are scaled\nto the whole time',
      repeat: true,
      group: SETS,
    },
    {
      long: 'switch',
      value: 'RULE',
      help: 'when to load the next set: time:100ms (the default), overflow:EVENT:N,\nor manual: at each SIGUSR2 to this process',
      group: SETS,
    },
    {
      long: 'save-control',
      value: 'FILE',
      help: 'write the events and the rule for switching sets to FILE, as JSON; - is standard output',
      group: SETS,
    },
    { long: 'control-data', value: 'FILE', help: 'count what a file of --save-control says', group: SETS },
    {
      long: 'interval-print',
      short: 'I',
      value: 'MS',
      help: 'print counts every MS milliseconds; 0: only at the end',
      group: PLACES,
    },
    { long: 'interval-count', value: 'N', help: 'with -I: stop after N intervals', group: PLACES },
    { long: 'summary', help: 'with -I: also print the sums at the end', group: PLACES },
    { long: 'no-aggr', short: 'A', help: 'a row for each CPU (with -a or -C)', group: PLACES },
    {
      long: 'no-merge',
      help: 'accepted for perf: each PMU always has its own row for an event',
      group: PLACES,
    },
    { long: 'per-core', help: 'a row for each core', group: PLACES },
    { long: 'per-die', help: 'a row for each die', group: PLACES },
    { long: 'per-socket', help: 'a row for each socket', group: PLACES },
    { long: 'per-node', help: 'a row for each NUMA node', group: PLACES },
    { long: 'per-thread', help: 'a row for each thread (with -p, -t or -a)', group: PLACES },
    {
      long: 'scale',
      negatable: true,
      help: 'scale counts to the whole time if an event shared a counter (the default)',
      group: OUTPUT,
    },
    ...formOptions(OUTPUT),
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write (default standard error); - is standard output',
      group: OUTPUT,
    },
    ...appendOptions(OUTPUT),
    { long: 'table', help: 'with -r: print the time of each run', group: OUTPUT },
    { long: 'sync', short: 'S', help: 'sync() before each run', group: TARGET },
    {
      long: 'plan',
      help: 'show what would be opened, and in which order; open and run nothing',
      group: OUTPUT,
    },
    { long: 'quiet', short: 'q', help: 'print errors only', group: 'General' },
  ],
  examples: [
    ['stat -- node app.js', 'the usual counts of a program'],
    ["stat -e '{cycles,instructions}' -r 5 -- make", 'two events at one time; mean and spread of five runs'],
    ['stat -p 1234 -I 1000', 'a running process, each second'],
    ['stat -a --per-socket -M ipc,cache-miss-rate -- sleep 10', 'metrics of the whole machine'],
    ['stat --set cycles --set faults --switch time:10ms -- ./program', 'two sets in turn'],
    ['stat --event-tables perfmon/ -e NAME -- ./program', "an event of Intel's tables for this CPU"],
    [
      'stat -e soft/instructions/,soft/branches/ -- ./program',
      'exact counts by single steps, without counters',
    ],
    ['stat record -o counts.data -- make', 'keep the counts; stat report -i counts.data shows them again'],
    ['stat --plan --json -e cycles:u true', 'every field of the attr that the kernel would get'],
  ],
  async run(context) {
    const { runStat } = await import('./run.ts');
    return await runStat(context);
  },
});
