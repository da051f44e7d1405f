import { defineVerb } from '../common/args.ts';

export type DiffName = 'event' | 'children' | 'all' | 'limit' | 'fail-over' | 'js' | 'symfs' | 'json';

export default defineVerb<DiffName>({
  name: 'diff',
  summary: 'compare two recordings by function: what changed beyond noise',
  usage: '[options] BEFORE AFTER',
  options: [
    {
      long: 'event',
      value: 'NAME',
      help: 'the event to compare (default: the first with samples)',
      group: 'Rows',
    },
    {
      long: 'children',
      help: 'also count the time of callees for their callers (default: own time)',
      group: 'Rows',
    },
    { long: 'all', short: 'a', help: 'also show changes that chance alone explains', group: 'Rows' },
    { long: 'limit', value: 'N', help: 'only the first N rows', group: 'Rows' },
    {
      long: 'js',
      negatable: true,
      help: 'of JavaScript programs, compare the functions of JavaScript: what V8 and the kernel did counts for them (default, where both recordings have their call chains)',
      group: 'Rows',
    },
    {
      long: 'fail-over',
      value: 'PERCENT',
      help: 'exit with 4 if the share of a function certainly grew by more than this, in percentage points',
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
      'diff --fail-over 5% before.data after.data',
      'in CI: status 4 if a function grew by more than 5 points',
    ],
    ['diff --all --limit 30 before.data after.data', 'with changes that may be chance'],
    ['diff --json before.data after.data | jq .rows[0]', 'as JSON: the largest change'],
  ],
  async run(context) {
    const { runDiff } = await import('./run.ts');
    return await runDiff(context);
  },
});
