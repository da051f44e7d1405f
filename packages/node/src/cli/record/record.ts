import { defineVerb } from '../common/args.ts';
import { nodeNamesOption, type SamplingName, samplingOptions } from '../common/sampling-options.ts';
import { type TargetName, targetOptions } from '../common/target-options.ts';
import { type SampleRowName, sampleRows } from './sample-rows.ts';

export type RecordName =
  | TargetName
  | SamplingName
  | 'g'
  | 'call-graph'
  | 'user-callchains'
  | 'kernel-callchains'
  | 'filter'
  | SampleRowName
  | 'all-user'
  | 'all-kernel'
  | 'clockid'
  | 'format'
  | 'off-cpu'
  | 'loop'
  | 'output'
  | 'max-size'
  | 'mmap-pages'
  | 'buffer'
  | 'realtime'
  | 'buildid'
  | 'no-buildid'
  | 'no-buildid-cache'
  | 'compression-level'
  | 'node-names'
  | 'no-js'
  | 'keep-perf-maps'
  | 'fail-on-loss'
  | 'plan'
  | 'json'
  | 'quiet';

const TARGET = 'Target';
const EVENTS = 'Events';
const CHAINS = 'Call chains';
const SAMPLES = 'What samples carry, and what is recorded beside them';
const OUTPUT = 'Output';

export default defineVerb<RecordName>({
  name: 'record',
  needsLinux: true,
  summary: 'sample a program or running processes into a perf.data file',
  usage: ['[options] [--] COMMAND [ARGUMENTS]', '[options] -p PID | -t TID | -a [[--] COMMAND]'],
  command: true,
  options: [
    ...targetOptions(TARGET),
    ...samplingOptions(EVENTS),
    {
      long: 'filter',
      value: 'EXPRESSION',
      help: "keep only what fits, of the tracepoint before: -e sched:sched_switch --filter 'prev_pid == 1'",
      repeat: true,
      group: EVENTS,
    },
    { long: 'all-user', help: 'user space only', group: EVENTS },
    { long: 'all-kernel', help: 'the kernel only', group: EVENTS },
    {
      long: 'clockid',
      short: 'k',
      value: 'CLOCK',
      help: 'the clock for times: mono, raw, real, boot, tai',
      group: EVENTS,
    },
    {
      long: 'format',
      value: 'NAME[,OPTION=VALUE]',
      help: "what the kernel does at an overflow: ring (perf's own record, the default), histogram\n(counts by address), stacks (counts by call stack), double-buffer (compact records), off-cpu,\non-miss (records of your choice), precise (the hardware's own record), or a file of your own (./my-format.ts); several share the target, each with its own copies of the events;\nNAME,help shows the options of one, counterpoint list formats those of all",
      repeat: true,
      group: EVENTS,
    },
    {
      long: 'off-cpu',
      help: 'also record time off the CPU by call stack, as samples of offcpu-time (adds --format off-cpu)',
      group: EVENTS,
    },
    {
      long: 'loop',
      help: 'record what `counterpoint loop -i` asks for: the turns of event loops, times off the CPU, and samples\nwith call chains (999 Hz of cpu-clock, or of -e)',
      group: EVENTS,
    },
    { long: 'g', help: 'record call chains', group: CHAINS },
    {
      long: 'call-graph',
      value: 'MODE',
      help: 'record call chains; MODE is fp (by frame pointers) or dwarf[,SIZE] (copies SIZE bytes of the stack, default 8192, most 65528, and unwinds them in report: for programs without frame pointers)',
      group: CHAINS,
    },
    { long: 'user-callchains', help: 'record only the user part of call chains', group: CHAINS },
    { long: 'kernel-callchains', help: 'record only the kernel part of call chains', group: CHAINS },
    nodeNamesOption(CHAINS),
    { long: 'no-js', help: 'the same as --no-node-names', group: CHAINS },
    ...sampleRows(SAMPLES),
    {
      long: 'keep-perf-maps',
      help: 'leave /tmp/perf-PID.map of the command, for perf; the names are in the recording anyway',
      group: CHAINS,
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write (default perf.data; an existing file is renamed to .old); - is standard output',
      group: OUTPUT,
    },
    {
      long: 'max-size',
      value: 'SIZE',
      help: 'stop when the output has this size, such as 100M; what the buffers still hold is added',
      group: OUTPUT,
    },
    {
      long: 'mmap-pages',
      short: 'm',
      value: 'PAGES',
      help: 'the buffer of each CPU, in pages or as a size such as 2M; a larger one loses less',
      group: OUTPUT,
    },
    {
      long: 'buffer',
      value: 'SIZE',
      help: 'memory for what a pipe (-o -) does not take yet (default 64M); beyond it samples are lost, and counted',
      group: OUTPUT,
    },
    {
      long: 'realtime',
      short: 'r',
      value: 'PRIO',
      help: 'empty the buffers with this real-time priority (SCHED_FIFO, 1 to 99), for loaded machines',
      group: OUTPUT,
    },
    { long: 'no-buildid', short: 'B', help: 'do not store build ids', group: OUTPUT },
    { long: 'buildid', help: 'store build ids (the default)', group: OUTPUT },
    { long: 'no-buildid-cache', short: 'N', help: 'accepted for perf: nothing is cached', group: OUTPUT },
    {
      long: 'compression-level',
      short: 'z',
      value: 'LEVEL',
      optionalValue: '1',
      help: 'not available: files are uncompressed',
      group: OUTPUT,
    },
    {
      long: 'plan',
      help: 'show what would be opened, and in which order; open and run nothing',
      group: OUTPUT,
    },
    { long: 'json', help: 'with --plan: print every field of every attr, as JSON', group: OUTPUT },
    {
      long: 'fail-on-loss',
      help: 'exit with 3 if something was lost and the command gave 0',
      group: 'General',
    },
    { long: 'quiet', short: 'q', help: 'print errors only', group: 'General' },
  ],
  examples: [
    ['record -g -- node app.js', 'a Node program, with JavaScript names and call chains'],
    ['record -F 999 -p 1234 -- sleep 10', 'a running process, for ten seconds'],
    ['record -a -g -o all.data', 'everything on this machine, until Ctrl-C'],
    ['record -e page-faults -c 1 -- ./program', 'every page fault'],
    [
      'record --format histogram -F 25000 -a -- sleep 10',
      'counts by address, added up in the kernel: little to write',
    ],
    ['record --off-cpu -g -- ./program', 'where it runs and where it waits'],
    ['record -o - -- make | counterpoint report -i -', 'without a file in between'],
  ],
  async run(context) {
    const { runRecord } = await import('./run.ts');
    return await runRecord(context);
  },
});
