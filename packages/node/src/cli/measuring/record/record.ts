import { defineVerb } from '../../common/args.ts';
import { groupOption } from '../../common/group-option.ts';
import { nodeNamesOption, type SamplingName, samplingOptions } from '../shared/sampling-options.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';
import { type SampleRowName, sampleRows } from './sample-rows.ts';
import { type TraceRowName, traceRows } from './trace-options.ts';

export type RecordName =
  | TargetName
  | SamplingName
  | 'g'
  | 'call-graph'
  | 'per-thread'
  | 'branch-any'
  | 'branch-filter'
  | 'user-callchains'
  | 'kernel-callchains'
  | 'filter'
  | 'exclude-perf'
  | 'pfm-events'
  | 'uid'
  | 'cgroup'
  | 'synth'
  | SampleRowName
  | 'all-user'
  | 'all-kernel'
  | 'clockid'
  | 'format'
  | 'off-cpu'
  | 'loop'
  | 'output'
  | 'control'
  | 'timestamp-filename'
  | 'switch-output'
  | 'switch-max-files'
  | 'max-size'
  | 'group'
  | 'no-buffering'
  | 'on-function'
  | 'stop-after'
  | 'soft-way'
  | 'mmap-pages'
  | TraceRowName
  | 'buffer'
  | 'realtime'
  | 'buildid'
  | 'no-buildid'
  | 'no-buildid-cache'
  | 'keep'
  | 'cache-size'
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
const BRANCHES = 'Branches';
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
    {
      long: 'uid',
      short: 'u',
      value: 'USER',
      help: 'the processes that this user runs now, by name or number',
      group: TARGET,
    },
    {
      long: 'cgroup',
      short: 'G',
      value: 'NAME,...',
      help: 'what runs in this control group, on all CPUs; of several, the first is for the first event, and so on',
      repeat: true,
      group: TARGET,
    },
    {
      long: 'per-thread',
      help: 'give each thread events and a buffer of its own, in place of one for each CPU; children and new threads are not followed',
      group: TARGET,
    },
    ...samplingOptions(EVENTS),
    groupOption(EVENTS),
    {
      long: 'filter',
      value: 'EXPRESSION',
      help: "keep only those hits of the tracepoint before this option that match the condition; after -e sched:sched_switch, for example, 'prev_pid == 1'",
      repeat: true,
      group: EVENTS,
    },
    {
      long: 'exclude-perf',
      help: 'leave out the tracepoint hits of this recorder itself',
      group: EVENTS,
    },
    {
      long: 'pfm-events',
      value: 'EVENT,...',
      help: "events in libpfm4's grammar (counterpoint list --pfm)",
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
      help: 'record all that `counterpoint loop -i` reads: the turns of event loops, the times off the CPU, and samples\nwith call chains (of -e, or of cpu-clock at 999 Hz)',
      group: EVENTS,
    },
    { long: 'g', help: 'record call chains', group: CHAINS },
    {
      long: 'call-graph',
      value: 'MODE',
      help: 'record call chains; MODE is auto (the cheapest of the others that gives whole stacks here, and says which), fp (by frame pointers), lbr (by records of open calls that the CPU keeps) or dwarf[,SIZE] (copies SIZE bytes of the stack, default 8192, most 65528, and unwinds them in report: for programs without frame pointers)',
      group: CHAINS,
    },
    { long: 'user-callchains', help: 'record only the user part of call chains', group: CHAINS },
    { long: 'kernel-callchains', help: 'record only the kernel part of call chains', group: CHAINS },
    nodeNamesOption(CHAINS),
    { long: 'no-js', help: 'the same as --no-node-names', group: CHAINS },
    {
      long: 'branch-any',
      short: 'b',
      help: 'samples have the last branches that the CPU took (Intel LBR, AMD, Arm BRBE); the same as -j any',
      group: BRANCHES,
    },
    {
      long: 'branch-filter',
      short: 'j',
      value: 'WORD,...',
      help: `only branches of these kinds (any_call, any_ret, ind_call, ind_jmp, cond, call, abort_tx, in_tx, no_tx, any,\nstack for open calls alone) to u, k, hv; with save_type, priv, counter, hw_index they tell more,\nwith no_flags, no_cycles less`,
      repeat: true,
      group: BRANCHES,
    },
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
      help: 'stop when the output reaches this size, such as 100M; what is still in the buffers is added',
      group: OUTPUT,
    },
    {
      long: 'timestamp-filename',
      help: 'add the time at which the file ends to its name',
      group: OUTPUT,
    },
    {
      long: 'switch-output',
      value: 'signal|SIZE|TIME',
      optionalValue: 'signal',
      help: 'start another file at each kill -USR2, at this size (100M), or after this time (30s); the name of each has the time at which it ends',
      group: OUTPUT,
    },
    {
      long: 'switch-max-files',
      value: 'N',
      help: 'with --switch-output: keep the latest N files',
      group: OUTPUT,
    },
    {
      long: 'control',
      value: 'fd:N[,N]|fifo:FILE[,FILE]',
      help: 'take commands from a pipe, one a line: enable [EVENT], disable [EVENT], evlist, ping, stop, and snapshot for the next file of --switch-output; answers (ack) go to the second pipe; with -D -1 nothing is sampled until enable',
      group: OUTPUT,
    },
    {
      long: 'soft-way',
      value: 'step|fast',
      help: 'how soft events are found: each instruction in a single step, or a translated copy of the code that logs its blocks, much faster, without call chains (default: step)',
      group: OUTPUT,
    },
    {
      long: 'on-function',
      value: '[FILE:]NAME',
      help: 'with soft events: step only calls of this function, and what they call; the rest runs freely',
      group: OUTPUT,
    },
    {
      long: 'stop-after',
      value: 'N',
      help: 'with soft events: let the target go on by itself after N stepped instructions, such as 2M',
      group: OUTPUT,
    },
    {
      long: 'mmap-pages',
      short: 'm',
      value: 'RING[,AREA]',
      help: 'the buffer of each CPU, in pages or as a size such as 2M, and after a comma that of a hardware trace; a larger one loses less',
      group: OUTPUT,
    },
    ...traceRows(OUTPUT),
    {
      long: 'buffer',
      value: 'SIZE',
      help: 'memory for what a pipe (-o -) does not take yet (default 64M); beyond it samples are lost, and counted',
      group: OUTPUT,
    },
    {
      long: 'no-buffering',
      help: 'write each record when it comes, not when much has come: for readers of a pipe who wait for it',
      group: OUTPUT,
    },
    {
      long: 'realtime',
      short: 'r',
      value: 'PRIO',
      help: 'empty the buffers with this real-time priority (SCHED_FIFO, 1 to 99), for loaded machines',
      group: OUTPUT,
    },
    {
      long: 'synth',
      value: 'no|all|task|mmap|cgroup',
      help: 'what to record about processes that already run: nothing, all, their names, their maps, names of cgroups (default all)',
      group: OUTPUT,
    },
    { long: 'no-buildid', short: 'B', help: 'do not store build ids', group: OUTPUT },
    { long: 'buildid', help: 'store build ids (the default)', group: OUTPUT },
    {
      long: 'keep',
      value: 'none|symbols|binaries',
      help: "keep the binaries that samples are in by their build ids in perf's ~/.debug, so that names can be found after a rebuild: whole, or only what names and lines are made of (default binaries, as perf; not with -o -)",
      group: OUTPUT,
    },
    {
      long: 'cache-size',
      value: 'SIZE',
      help: 'with --keep: let ~/.debug have at most SIZE, such as 2G; files that were not used for the longest time are removed',
      group: OUTPUT,
    },
    { long: 'no-buildid-cache', short: 'N', help: 'the same as --keep none', group: OUTPUT },
    {
      long: 'compression-level',
      short: 'z',
      value: 'LEVEL',
      optionalValue: '1',
      help: 'compress the samples by Zstandard, at level 1 (the default) to 22',
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
      'counts by address, added up in the kernel: a small file',
    ],
    ['record -j any,u -e cycles:u -- ./program', 'the last branches before each sample, for report -b'],
    ['record --off-cpu -g -- ./program', 'where it runs and where it waits'],
    ['record -o - -- make | counterpoint report -i -', 'without a file in between'],
  ],
  async run(context) {
    const { runRecord } = await import('./run.ts');
    return await runRecord(context);
  },
});
