import { defineVerb } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import { eventTablesOption, reportEventTables, takeEventTables } from '../shared/event-tables.ts';

export default defineVerb({
  name: 'list',
  needsLinux: ([first]) => first !== 'formats',
  summary: 'list the events that can be counted and sampled, and the sampling formats',
  usage: ['[options] [KIND|PATTERN]…', '[--json] formats [NAME|FILE]…', '--pfm [options] [PMU|PATTERN]…'],
  options: [
    {
      long: 'desc',
      short: 'd',
      negatable: true,
      help: 'print descriptions of the events (the default)',
      group: 'Output',
    },
    { long: 'json', short: 'j', help: 'the answer as JSON', group: 'Output' },
    {
      long: 'raw-dump',
      help: 'print the names alone, in one line, of events that are there; for shells',
      group: 'Output',
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write; `-` for standard output',
      group: 'Output',
    },
    eventTablesOption("Vendors' tables"),
    {
      long: 'pfm',
      help: 'list events of libpfm4, for --pfm-events of other verbs; without words, list its PMUs',
      group: 'libpfm4',
    },
    {
      long: 'encode',
      value: 'EVENT',
      repeat: true,
      help: "with --pfm: show what perf_event_open and the hardware get\nfor an event in libpfm4's grammar, also of another CPU",
      group: 'libpfm4',
    },
  ],
  examples: [
    ['list', 'everything, as sections'],
    ['list sw', 'kinds: hw, sw, cache, tool, pmu, table, tracepoint, raw (forms such as rNNN)'],
    ["list 'sched:*'", 'tracepoints by a wildcard'],
    ['list tracepoint openat', 'tracepoints with openat in their name'],
    ['list -v sched:sched_switch', 'with the fields that --filter can compare'],
    ['list miss', 'everything with miss in its name or description'],
    ["list --raw-dump 'sched:*'", 'names in one line, for shells'],
    ['list --json hw | jq .events[].name', 'for scripts'],
    ['list --event-tables perfmon/ table', "events of this CPU in a copy of Intel's collection"],
    [
      'list -v --event-tables neoverse-v2.json stall',
      'events of one table with stall in their name or description, in full',
    ],
    ['list formats', 'sampling formats with their options, for record --format'],
    ['list formats ./my-format.ts', 'the options of your own format'],
    ['list --pfm skx', 'the events of another CPU, in the grammar of libpfm4'],
    ['list --pfm --encode skx::L2_RQSTS:MISS', 'one of its events as numbers'],
  ],
  async run({ args, out, err }) {
    const path = args.string('output');
    if (path === undefined || path === '-') return await list(args, out, err);
    const { openTextFile } = await import('../shared/text-file.ts');
    const file = await openTextFile('list', path, err);
    try {
      return await list(args, file.output, err);
    } finally {
      file.close();
    }
  },
});

type ListName = 'desc' | 'json' | 'raw-dump' | 'output' | 'event-tables' | 'pfm' | 'encode' | 'verbose';

async function list(args: ParsedArguments<ListName>, out: Output, err: Output): Promise<number> {
  const isRaw = args.boolean('raw-dump');
  if (isRaw && (args.boolean('json') || args.boolean('pfm') || args.words[0] === 'formats'))
    throw new UsageError('--raw-dump is for the names of the events, and stands alone');
  const withDescriptions = !args.has('desc') || args.boolean('desc');
  if (args.boolean('pfm') || args.has('encode')) {
    if (!args.boolean('pfm')) throw new UsageError('--encode is for events of libpfm4', 'Add --pfm.');
    const { listPfm } = await import('./pfm.ts');
    const options = { json: args.boolean('json'), withDescriptions, encode: args.all('encode') };
    return listPfm(args.words, options, out, err);
  }
  const [first, ...names] = args.words;
  if (first === 'formats') {
    const { listFormats } = await import('./formats.ts');
    return await listFormats(names, { json: args.boolean('json') }, out);
  }
  const verbose = args.boolean('verbose');
  if (args.has('event-tables')) await takeEventTables(args.all('event-tables'), { verbose }, err);
  else await reportEventTables({ verbose }, err);
  const { listEvents } = await import('./events.ts');
  const options = { json: args.boolean('json'), isRaw, withDescriptions, verbose };
  return listEvents(args.words, options, out, err);
}
