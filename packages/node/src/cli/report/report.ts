import { defineVerb } from '../common/args.ts';
import { ITRACE_OPTION, type ItraceName, keepsStream } from '../common/itrace-option.ts';
import { type JavascriptName, javascriptOption } from '../common/javascript-option.ts';
import {
  FILTERS,
  INPUT_OPTIONS,
  type InputName,
  openInput,
  refuseOthers,
} from '../common/recording-input.ts';

export type ReportName =
  | InputName
  | ItraceName
  | JavascriptName
  | 'stats'
  | 'header'
  | 'header-only'
  | 'children'
  | 'sort'
  | 'dsos'
  | 'symbols'
  | 'event'
  | 'tree'
  | 'percent-limit'
  | 'limit'
  | 'show-nr-samples'
  | 'json'
  | 'stdio';

/** Options that only choose among samples or lay out rows. */
const OF_PROFILES: readonly ReportName[] = [
  ...FILTERS,
  'dsos',
  'symbols',
  'event',
  'sort',
  'tree',
  'percent-limit',
  'limit',
  'show-nr-samples',
  'header',
  'js',
];

export default defineVerb<ReportName>({
  name: 'report',
  summary: 'show where the samples of a recording fell',
  usage: ['[options]', '[options] FILE'],
  options: [
    ...INPUT_OPTIONS,
    {
      long: 'dsos',
      short: 'd',
      value: 'NAME,...',
      help: 'only functions of these binaries; [JIT] is the compiled code of all processes',
      group: 'Filter',
    },
    {
      long: 'symbols',
      short: 'S',
      value: 'NAME,...',
      help: 'only these functions; for JavaScript the name alone is enough',
      repeat: true,
      group: 'Filter',
    },
    { long: 'event', value: 'NAME', help: 'only this event', group: 'Filter' },
    {
      long: 'sort',
      short: 's',
      value: 'KEYS',
      help: 'what makes a row: comm, dso, symbol, pid, tid, cpu; for JavaScript srcline (the line of source code), for JIT code also tier (its compiler) and copy (its place),\nfor threads role (main or other), for tracepoints trace (what they recorded) and fields (next_comm, sched_switch.next_comm, sched_switch.*)\n(default comm,dso,symbol; trace for tracepoints without call chains)',
      group: 'Rows',
    },
    {
      long: 'children',
      help: 'add the time of callees to their callers (default with call chains; --no-children: own time only)',
      negatable: true,
      group: 'Rows',
    },
    { long: 'percent-limit', value: 'PERCENT', help: 'leave out rows below this share', group: 'Rows' },
    { long: 'limit', value: 'N', help: 'only the first N rows of each event', group: 'Rows' },
    { long: 'show-nr-samples', short: 'n', help: 'add a column with the number of samples', group: 'Rows' },
    {
      long: 'tree',
      short: 'g',
      value: 'callees|callers',
      optionalValue: 'callees',
      valueMayFollow: true,
      help: 'show the call tree from the roots down, or from each function up to its callers; with --dsos or --symbols, only those functions are roots',
      group: 'Rows',
    },
    javascriptOption(
      'default: charge, where JavaScript has call chains and neither --sort nor --dsos is given',
    ),
    ITRACE_OPTION,
    {
      long: 'stats',
      help: 'show only what is in the file: samples, records by type, losses, damage',
      group: 'Other answers',
    },
    {
      long: 'header',
      help: 'print what the header says of the recorded machine before the rows',
      group: 'Rows',
    },
    {
      long: 'header-only',
      help: 'print only what the header says of the recorded machine',
      group: 'Other answers',
    },
    { long: 'json', help: 'the answer as JSON', group: 'Output' },
    { long: 'stdio', help: 'accepted for perf: output is always plain text', group: 'Output' },
  ],
  examples: [
    ['report', 'functions by time, callees included'],
    ['report --no-children -i perf.data', 'functions by their own time'],
    ['report --sort dso', 'time by binary'],
    ['report --sort sched:sched_switch.next_comm', 'hits of a tracepoint by one of its fields'],
    ['report --sort srcline', 'of a Node program, the hot lines'],
    ['report --no-js', 'of a Node program, the functions of V8 and of libraries, too'],
    ['report --tree=callers --percent-limit 2', 'who called the hot functions'],
    ['report --stats --json | jq .loss', 'what is missing from the recording'],
    ['record -o - -- make | counterpoint report -i -', 'without a file in between'],
  ],
  async run(context) {
    const { args } = context;
    const other = args.boolean('stats') ? '--stats' : args.boolean('header-only') ? '--header-only' : null;
    if (other !== null) refuseOthers(args, other, OF_PROFILES);
    // Each answer is awaited here: the recording is closed when this block is left.
    await using recording = await openInput(
      args,
      other === null ? keepsStream(args) : args.string('itrace') != null,
    );
    if (args.boolean('stats')) return await (await import('./stats.ts')).reportStats(context, recording);
    if (args.boolean('header-only')) {
      return await (await import('./header.ts')).reportHeader(context, recording);
    }
    return await (await import('./profile.ts')).reportProfile(context, recording);
  },
});
