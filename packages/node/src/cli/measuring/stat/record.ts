import { defineVerb } from '../../common/args.ts';
import type { OptionRow } from '../../common/option-row.ts';
import { UsageError } from '../../common/usage-error.ts';
import stat, { type StatName } from './stat.ts';

/** What a recording of counts has no place for. */
const NOT_RECORDED: ReadonlyMap<StatName, string> = new Map([
  ['set', 'event sets'],
  ['switch', 'event sets'],
  ['control-data', 'event sets'],
  ['save-control', 'event sets'],
  ['cgroup', 'control groups'],
  ['for-each-cgroup', 'control groups'],
  ['metrics', 'figures (record their events with -e)'],
  ['topdown', 'figures (record their events with -e)'],
  ['null', 'a run without counts'],
  ['plan', 'a plan (stat --plan shows it)'],
  ['append', 'another recording'],
]);
const DEFAULT_PATH = 'perf.data';

const output: OptionRow<StatName> = {
  long: 'output',
  short: 'o',
  value: 'FILE',
  help: `the recording (default ${DEFAULT_PATH}); - is standard output`,
  group: 'Output',
};

export default defineVerb<StatName>({
  name: 'stat record',
  needsLinux: true,
  summary: 'count as stat does, and keep the counts in a recording',
  usage: stat.usage,
  command: true,
  options: stat.options.map((row): OptionRow<StatName> => {
    if (row.long === 'output') return output;
    return NOT_RECORDED.has(row.long) ? { ...row, hidden: true } : row;
  }),
  examples: [
    ['stat record -e task-clock,cs -- make', 'counts of a program, also in perf.data'],
    ['stat record -o counts.data -a -A -I 1000 -- sleep 60', 'each CPU, each second'],
    ['stat record -o - -q -- ./program | counterpoint stat report -i -', 'the same through a pipe'],
    ['stat report -i counts.data --per-socket', 'show them (perf stat report does, too)'],
  ],
  async run(context) {
    const { args } = context;
    for (const [name, what] of NOT_RECORDED)
      if (args.has(name))
        throw new UsageError(
          `${args.shown(name)}: a recording of counts has no place for ${what}`,
          'Leave it out, or keep the answer of stat --json -o FILE instead.',
        );
    const { runStat } = await import('./run.ts');
    return await runStat(context, args.string('output') ?? DEFAULT_PATH);
  },
});
