import { defineVerb } from '../../common/args.ts';
import { nodeNamesOption } from '../shared/sampling-options.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';

export type PtRecordName =
  | Exclude<TargetName, 'delay' | 'inherit' | 'no-inherit'>
  | 'source'
  | 'kernel'
  | 'filter'
  | 'snapshot'
  | 'on-function'
  | 'stop-after'
  | 'node-names'
  | 'output'
  | 'max-size'
  | 'plan'
  | 'quiet';

const TARGET = 'Target';
const TRACE = 'Trace';
const OUTPUT = 'Output';

export default defineVerb<PtRecordName>({
  name: 'pt record',
  needsLinux: true,
  summary: 'record every branch of a program: by Intel PT, or in software where there is none',
  usage: ['[options] [--] COMMAND [ARGUMENTS]', '[options] -p PID | -t TID | -a [[--] COMMAND]'],
  command: true,
  options: [
    ...targetOptions(TARGET).filter(isOurs),
    nodeNamesOption(TARGET),
    {
      long: 'source',
      value: 'intel_pt|soft_pt',
      help: 'what makes the trace (default intel_pt where this machine has it, else soft_pt, which steps the program: the same packets, and much slower)',
      group: TRACE,
    },
    { long: 'kernel', help: 'intel_pt: also what the kernel executes', group: TRACE },
    {
      long: 'filter',
      value: 'EXPRESSION',
      help: "intel_pt: trace only there, such as 'filter main @ ./program'",
      repeat: true,
      group: TRACE,
    },
    {
      long: 'snapshot',
      short: 'S',
      value: 'SIZE',
      optionalValue: '64M',
      help: 'intel_pt: keep only the newest SIZE of each CPU (default 64M), and write it at SIGUSR2 and at the end',
      group: TRACE,
    },
    {
      long: 'on-function',
      value: '[FILE:]NAME',
      help: 'soft_pt: trace only calls of this function, and what they call; the rest runs freely',
      group: TRACE,
    },
    {
      long: 'stop-after',
      value: 'N',
      help: 'soft_pt: let the program go on by itself after N instructions, such as 2M',
      group: TRACE,
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write (default perf.data; an existing file is renamed to .old)',
      group: OUTPUT,
    },
    {
      long: 'max-size',
      value: 'SIZE',
      help: 'end when the output reaches this size (default 1G)',
      group: OUTPUT,
    },
    { long: 'plan', help: 'say what would be recorded, and how; open and run nothing', group: OUTPUT },
    { long: 'quiet', short: 'q', help: 'print errors only', group: 'General' },
  ],
  examples: [
    ['pt record -- gzip -k file', 'every branch of a command, into perf.data'],
    ['script --call-trace', 'then: its calls, indented by their depth'],
    [
      'export -o calls.pftrace',
      'then: each call in time, for ui.perfetto.dev (.trace.json: chrome://tracing)',
    ],
    ['report --itrace=i1i', 'then: its functions by their instructions, counted exactly'],
    ['pt record --on-function parse -- ./program', 'only calls of `parse`: the rest runs at full speed'],
    ['pt record -p 1234 -- sleep 1', 'a running process, for a second'],
    ['pt record -S -p 1234', 'Intel PT: the newest 64 MB of each CPU, at SIGUSR2 and at Ctrl-C'],
    ['pt record --plan -- ./program', 'the same as which record, and why'],
  ],
  async run(context) {
    const { runPtRecord } = await import('./run.ts');
    return await runPtRecord(context);
  },
});

/** All that a target starts is traced, from its beginning. */
function isOurs<Row extends { long: string }>(
  row: Row,
): row is Row & { long: Exclude<TargetName, 'delay' | 'inherit' | 'no-inherit'> } {
  return row.long !== 'delay' && row.long !== 'inherit' && row.long !== 'no-inherit';
}
