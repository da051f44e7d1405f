import { defineVerb } from '../../common/args.ts';
import { ITRACE_OPTION, type ItraceName, keepsStream } from '../../common/itrace-option.ts';
import { foldOption } from '../../common/javascript-fold.ts';
import { type JavascriptName, javascriptOption } from '../../common/javascript-option.ts';
import {
  FILTERS,
  INPUT_OPTIONS,
  type InputName,
  inputName,
  openInput,
  refuseOthers,
} from '../../common/recording-input.ts';
import { SOURCE_MAPS_OPTION, type SourceMapsName } from '../../common/source-maps-option.ts';
import { SOURCE_OPTIONS, type SourceName } from '../../common/source-options.ts';
import { UsageError } from '../../common/usage-error.ts';

export type ReportName =
  | InputName
  | SourceMapsName
  | ItraceName
  | JavascriptName
  | SourceName
  | 'stats'
  | 'tasks'
  | 'mmaps'
  | 'threads'
  | 'dump-raw-trace'
  | 'header'
  | 'header-only'
  | 'children'
  | 'sort'
  | 'dsos'
  | 'symbols'
  | 'event'
  | 'tree'
  | 'branch-stack'
  | 'total-cycles'
  | 'percent-limit'
  | 'limit'
  | 'show-nr-samples'
  | 'fields'
  | 'field-separator'
  | 'symbol-filter'
  | 'percentage'
  | 'inverted'
  | 'max-stack'
  | 'parent'
  | 'exclude-other'
  | 'hierarchy'
  | 'group'
  | 'quiet'
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
  'fields',
  'field-separator',
  'symbol-filter',
  'percentage',
  'inverted',
  'max-stack',
  'parent',
  'exclude-other',
  'hierarchy',
  'group',
  'quiet',
  'header',
  'js',
  'fold',
  'inline',
  'full-source-path',
];

/** Answers that are no rows of a profile. */
const OTHER_ANSWERS = ['stats', 'header-only', 'tasks', 'mmaps', 'threads', 'dump-raw-trace'] as const;

/** Rows of branches: the words of `BranchView`. */
export const BRANCH_WORDS = ['functions', 'edges', 'mispredicts', 'loops', 'blocks'] as const;

const BRANCH_ANSWERS = ['branch-stack', 'total-cycles'] as const;

/** Options that rows of branches would not heed. */
const NOT_OF_BRANCHES: readonly ReportName[] = [
  'sort',
  'children',
  'tree',
  'percent-limit',
  'show-nr-samples',
  'fields',
  'symbol-filter',
  'percentage',
  'inverted',
  'max-stack',
  'parent',
  'exclude-other',
  'hierarchy',
  'group',
  'header',
  'js',
  'fold',
  'inline',
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
    {
      long: 'symbol-filter',
      value: 'TEXT',
      help: 'only rows of functions with TEXT in their name',
      group: 'Filter',
    },
    { long: 'event', value: 'NAME', help: 'only this event', group: 'Filter' },
    {
      long: 'exclude-other',
      short: 'x',
      help: 'only rows of stacks that have a parent, by --parent or --sort parent',
      group: 'Filter',
    },
    {
      long: 'sort',
      short: 's',
      value: 'KEYS',
      help: 'what makes a row: comm, dso, symbol, process, pid (the thread and its name, as in perf), tid, cpu, srcline (the line of source code), srcfile (its file), parent (see --parent); for JIT code also tier (its compiler) and copy (its place),\nfor threads role (main or other), for tracepoints trace (what they recorded) and fields (next_comm, sched_switch.next_comm, sched_switch.*)\n(default comm,dso,symbol; trace for tracepoints without call chains)',
      group: 'Rows',
    },
    {
      long: 'children',
      help: 'add the time of callees to their callers (default with call chains; --no-children: own time only)',
      negatable: true,
      group: 'Rows',
    },
    { long: 'percent-limit', value: 'PERCENT', help: 'leave out rows below this share', group: 'Rows' },
    {
      long: 'limit',
      value: 'N',
      help: 'only the first N rows of each event; with --tree and --hierarchy, only the first N at its roots',
      group: 'Rows',
    },
    { long: 'show-nr-samples', short: 'n', help: 'add a column with the number of samples', group: 'Rows' },
    {
      long: 'fields',
      short: 'F',
      value: 'FIELDS',
      help: 'the columns, in this order: overhead, overhead_children, sample, period, and sort keys, which make the rows',
      group: 'Rows',
    },
    {
      long: 'field-separator',
      short: 't',
      value: 'TEXT',
      help: 'write TEXT between columns, and do not align them',
      group: 'Rows',
    },
    {
      long: 'percentage',
      value: 'relative|absolute',
      help: 'shares of what --dsos, --symbols and --symbol-filter leave, or of everything (default absolute)',
      group: 'Rows',
    },
    {
      long: 'inverted',
      short: 'G',
      help: "show the call tree from the roots down (perf's name for --tree)",
      group: 'Rows',
    },
    {
      long: 'tree',
      short: 'g',
      value: 'callees|callers',
      optionalValue: 'callees',
      valueMayFollow: true,
      help: "show the call tree from the roots down, or from each function up to its callers; with --dsos or --symbols, only those functions are roots; also perf's form: graph,0.5,caller",
      group: 'Rows',
    },
    {
      long: 'parent',
      short: 'p',
      value: 'REGEX',
      help: 'add a column with the function of the stack whose name REGEX matches: of several the outermost, with --no-children the innermost',
      group: 'Rows',
    },
    {
      long: 'max-stack',
      value: 'N',
      help: 'look only at N frames of each stack: at the outermost, with --no-children and --tree=callers at the innermost',
      group: 'Rows',
    },
    {
      long: 'hierarchy',
      help: 'a level of rows for each sort key: commands, in them binaries, in these functions, by own time',
      group: 'Rows',
    },
    {
      long: 'group',
      help: 'show events that were recorded as a group in one table; if there are no groups, all events',
      group: 'Rows',
    },
    javascriptOption('default: charge, if JavaScript has call chains and neither --sort nor --dsos is given'),
    foldOption('default with --js=charge: node; --no-fold: none'),
    SOURCE_MAPS_OPTION,
    ...SOURCE_OPTIONS,
    ITRACE_OPTION,
    {
      long: 'branch-stack',
      short: 'b',
      value: BRANCH_WORDS.join('|'),
      optionalValue: 'functions',
      valueMayFollow: BRANCH_WORDS,
      help: 'show the branches that samples recorded (record -b, soft_bts//, hardware traces): from which function to which (functions), from which instruction to which (edges), which ones the CPU guessed wrongly (mispredicts), loops with their trip counts (loops), the cycles of code between branches (blocks)',
      group: 'Other answers',
    },
    {
      long: 'total-cycles',
      help: "the cycles of code between branches (perf's name for --branch-stack=blocks)",
      group: 'Other answers',
    },
    {
      long: 'stats',
      help: 'show only what is in the file: samples, records by type, losses, damage',
      group: 'Other answers',
    },
    {
      long: 'tasks',
      help: 'show only the tasks of the recording, below those that began them',
      group: 'Other answers',
    },
    { long: 'mmaps', help: 'as --tasks, with the executable memory of each', group: 'Other answers' },
    {
      long: 'threads',
      short: 'T',
      help: 'show only what each task that ended had counted (of recordings with -s)',
      group: 'Other answers',
    },
    {
      long: 'dump-raw-trace',
      short: 'D',
      help: 'print every record: its place, its bytes, and what it says',
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
    { long: 'quiet', short: 'q', help: 'print rows only', group: 'Output' },
    { long: 'stdio', help: 'accepted for perf: output is always plain text', group: 'Output' },
  ],
  examples: [
    ['report', 'functions by time, callees included'],
    ['report --no-children -i perf.data', 'functions by their own time'],
    ['report --sort dso', 'time by binary'],
    ['report --sort sched:sched_switch.next_comm', 'hits of a tracepoint by one of its fields'],
    ['report --hierarchy', 'commands, their binaries, and the functions in these'],
    ["report --parent '^(parse|print)'", 'by which of these functions the time was spent'],
    ['report --sort srcline', 'the hot lines of source code'],
    ['report --inline --tree', 'the call tree, with functions that the compiler inlined'],
    ['report --no-js', 'of a Node program, the functions of V8 and of libraries, too'],
    [
      'report --fold node_modules',
      'of a Node program, what its own functions cost with the packages they call',
    ],
    ['report --tree=callers --limit 5', 'who called the five hottest functions'],
    ['report --branch-stack=loops', 'of recorded branches, the hot loops with their trip counts'],
    ['report --stats --json | jq .loss', 'what is missing from the recording'],
    ['record -o - -- make | counterpoint report -i -', 'without a file in between'],
  ],
  async run(context) {
    const { args } = context;
    const [other = null, second] = OTHER_ANSWERS.filter((name) => args.boolean(name));
    if (second !== undefined) throw new UsageError(`--${other} and --${second} are two answers: choose one`);
    const branches = BRANCH_ANSWERS.filter((name) => args.has(name));
    if (branches.length > 0) {
      const shown = args.shown(branches[0]!);
      const twice = other ?? branches[1];
      if (twice !== undefined) throw new UsageError(`--${twice} and ${shown} are two answers: choose one`);
      refuseOthers(args, shown, NOT_OF_BRANCHES);
      await using recording = await openInput(args, keepsStream(args));
      return await (await import('./branches.ts')).reportBranches(context, recording);
    }
    if (other !== null) {
      const unheeded = OF_PROFILES.filter((name) => name !== 'header' || other !== 'stats');
      refuseOthers(args, `--${other}`, unheeded);
    }
    // Each answer is awaited here: the recording is closed when this block is left.
    await using recording = await openInput(
      args,
      other === null ? keepsStream(args) : args.string('itrace') != null,
    );
    if (args.boolean('header') && recording.isStream)
      throw new UsageError(
        '--header prints before the rows, but a stream has the header among its records',
        'Save the stream to a file first: `... > perf.data`, or print only the header: --header-only',
      );
    if (args.boolean('stats')) return await (await import('./stats.ts')).reportStats(context, recording);
    if (args.boolean('header-only')) {
      return await (await import('./header.ts')).reportHeader(context, recording);
    }
    if (other === 'dump-raw-trace') {
      const { dumpRecording } = await import('../../common/raw-dump.ts');
      return await dumpRecording(inputName(args), recording, context);
    }
    if (other !== null) return await (await import('./tasks.ts')).reportTasks(context, recording);
    return await (await import('./profile.ts')).reportProfile(context, recording);
  },
});
