import { defineVerb } from '../../common/args.ts';
import { foldOption } from '../../common/javascript-fold.ts';

export type DiffName =
  | 'event'
  | 'sort'
  | 'compare'
  | 'compute'
  | 'children'
  | 'all'
  | 'limit'
  | 'fail-over'
  | 'js'
  | 'fold'
  | 'symfs'
  | 'output'
  | 'json';

export default defineVerb<DiffName>({
  name: 'diff',
  summary: 'compare recordings by function, file or binary: what changed beyond noise',
  usage: ['[options] BEFORE AFTER...', '[options] BEFORE,BEFORE,... AFTER,AFTER,...'],
  options: [
    {
      long: 'event',
      value: 'NAME',
      help: 'the event to compare (default: the first with samples)',
      group: 'Rows',
    },
    {
      long: 'sort',
      short: 's',
      value: 'KEYS',
      help: 'what makes a row: function, file, line, binary, or the keys of report --sort (default binary,function)',
      group: 'Rows',
    },
    {
      long: 'compare',
      short: 'c',
      value: 'METHOD',
      help: 'how a change is measured: delta-abs (default) and delta in percentage points, the second ordered by the change itself;\nratio: how many times as much as before; wdiff:BEFORE,AFTER: the difference of what was counted, each multiplied by its weight',
      group: 'Rows',
    },
    { long: 'compute', value: 'METHOD', help: "perf's name for --compare", group: 'Rows', hidden: true },
    {
      long: 'children',
      help: 'also count the time of callees for their callers (default: own time)',
      group: 'Rows',
    },
    {
      long: 'all',
      short: 'a',
      help: 'also show changes that chance, or the difference between runs, explains',
      group: 'Rows',
    },
    { long: 'limit', value: 'N', help: 'only the first N rows', group: 'Rows' },
    {
      long: 'js',
      negatable: true,
      help: 'compare JavaScript programs by their functions of JavaScript: what V8 and the kernel did counts for them (default, if both recordings have their call chains)',
      group: 'Rows',
    },
    foldOption('default: node; --no-fold: none'),
    {
      long: 'fail-over',
      value: 'PERCENT',
      help: 'exit with 4 if a row certainly grew by more than this: its share in percentage points, or with ratio its cost in percent of before',
      group: 'Answer',
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE.svg',
      help: 'write a flame graph of both: red grew, blue shrank, grey is noise; two recordings',
      group: 'Answer',
    },
    { long: 'json', help: 'the answer as JSON, with all rows', group: 'Answer' },
    {
      long: 'symfs',
      value: 'DIR',
      help: "look for the recorded programs under DIR, a copy of that machine's files",
      group: 'Input',
    },
  ],
  examples: [
    ['diff before.data after.data', 'which functions take another share of the time'],
    [
      'diff a1.data,a2.data,a3.data b1.data,b2.data,b3.data',
      'several recordings a side tell how much runs differ, and so smaller changes. Record in turn, so that both sides meet the same machine: for n in 1 2 3; do counterpoint record -g -o a$n.data -- ./old; counterpoint record -g -o b$n.data -- ./new; done',
    ],
    [
      'diff --fail-over 5% before.data after.data',
      'in CI: status 4 if a function certainly grew by more than 5 points',
    ],
    ['diff --sort binary one.data two.data three.data', 'several versions, each with the first'],
    [
      'diff -c ratio --fail-over 20% before.data after.data',
      'status 4 if a function certainly costs over 20 % more than before',
    ],
    ['diff -o changes.svg before.data after.data', 'a flame graph in red and blue'],
    ['diff --all --limit 30 before.data after.data', 'with changes that may be noise'],
    ['diff --json before.data after.data | jq .rows[0]', 'as JSON: the largest change'],
  ],
  async run(context) {
    const { runDiff } = await import('./run.ts');
    return await runDiff(context);
  },
});
