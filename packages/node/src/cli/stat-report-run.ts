import { CounterpointError, printable } from '@counterpoint/core/base';
import { type RecordedCounts, readCounts } from '@counterpoint/core/counts';
import type { PerfDataReader } from '@counterpoint/core/perfdata';
import { openRecording } from '../open/index.ts';
import { type Aggregation, recordedCpuPlace, recordedRuns } from '../stat/index.ts';
import { EXIT_OK, UsageError, type VerbContext } from './args.ts';
import { lossLines } from './loss-text.ts';
import type { Output } from './output.ts';
import { inputName } from './recording-input.ts';
import { formatOf, givenAggregation, localeHasCommas } from './stat-forms.ts';
import { recordedAnswer } from './stat-json.ts';
import { openResult } from './stat-output.ts';
import { type PrintedRun, StatPrinter } from './stat-printer.ts';
import type { StatReportName } from './stat-report.ts';

type Arguments = VerbContext<StatReportName>['args'];

export async function runStatReport({ args, out, err }: VerbContext<StatReportName>): Promise<number> {
  if (args.words.length > 1) throw new UsageError(`one recording at a time, not ${args.words.length}`);
  const format = formatOf(args);
  const asked = givenAggregation(args);
  if (args.boolean('global') && asked !== null)
    throw new UsageError(`--global and ${args.shown(asked.name)} exclude each other`);
  const name = inputName(args);
  await using recording = await openRecording(name);
  const reader = await recording.reader();
  const counts = await readCounts(reader);
  if (counts === null) throw noCounts(name, reader);
  const by = args.boolean('global') ? 'all' : aggregationOf(args, counts);
  const output = args.string('output') ?? '-';
  const result = await openResult({ output, append: args.boolean('append') }, out, err);
  try {
    print(args, { name, reader, counts, by, format }, result.output);
  } finally {
    result.close();
  }
  if (format !== 'json') sayDamage(reader, err);
  return EXIT_OK;
}

function noCounts(name: string, { events: { events } }: PerfDataReader): CounterpointError {
  const what = events.length > 0 ? 'a recording of samples' : 'no recording of counts';
  return new CounterpointError(
    'ERR_NO_COUNTS',
    `${name === '-' ? 'standard input' : printable(name)} has no counts: it is ${what}`,
    'counterpoint stat record makes one; counterpoint report shows samples.',
  );
}

/** As asked for, where the recording has it apart; else as it was recorded. */
function aggregationOf(args: Arguments, counts: RecordedCounts): Aggregation {
  const { rounds, threads } = counts;
  const asked = givenAggregation(args);
  const by = asked?.by ?? counts.by;
  if (by === 'all') return by;
  const isApart =
    by === 'thread'
      ? threads.some(({ tid }) => tid >= 0)
      : rounds.some((round) => round.counts.some(({ cpu }) => cpu >= 0));
  if (isApart) return by;
  if (asked === null) return 'all';
  throw new CounterpointError(
    'ERR_NOT_RECORDED',
    by === 'thread'
      ? `${args.shown(asked.name)}: the recording has whole CPUs, not threads`
      : `${args.shown(asked.name)}: the recording does not say on which CPU anything was counted`,
    by === 'thread' ? 'Record with -p, -t or -a --per-thread.' : 'Record whole CPUs (-a or -C).',
  );
}

interface Report {
  name: string;
  reader: PerfDataReader;
  counts: RecordedCounts;
  by: Aggregation;
  format: ReturnType<typeof formatOf>;
}

function print(args: Arguments, { name, reader, counts, by, format }: Report, output: Output): void {
  const { features, damage, isUnfinished } = reader;
  const commandLine = features.commandLine ?? [];
  const { intervals, totals } = recordedRuns(counts);
  const names = new Map(counts.threads.map((thread) => [thread.tid, printable(thread.name)]));
  const facts = { recording: name, commandLine, by, intervalMs: counts.intervalMs, isUnfinished };
  const printer = new StatPrinter<PrintedRun>(
    {
      format,
      by,
      named: [],
      separator: (args.string('field-separator') ?? ',').replaceAll('\\t', '\t'),
      bigNumbers: args.boolean('big-num', localeHasCommas(process.env)),
      withTable: args.boolean('table'),
      withSummary: args.boolean('summary'),
      unscaled: !counts.isScaled,
      hideIdle: by === 'thread' && isOfAll(commandLine),
      cpuPlace: recordedCpuPlace(features),
      threadName: (tid) => names.get(tid) ?? '',
      subject: `'${printable(reader.isPipe ? 'pipe' : commandLine.length > 0 ? commandLine.join(' ') : name)}'`,
      startedAt: null,
      hasTimes: false,
      hasIntervals: intervals.length > 0,
      withSets: false,
      countsNothing: false,
      answer: (runs, rows) => recordedAnswer({ ...facts, damage: damage.list() }, runs, rows),
    },
    output,
  );
  printer.beginRun();
  let lastNs = 0n;
  for (const interval of intervals) {
    if (interval.sinceStartNs < lastNs) printer.beginRun();
    lastNs = interval.sinceStartNs;
    printer.interval(interval);
  }
  if (totals.length > 0) printer.end(totals.map((total) => ({ total, notes: [] })));
}

/** perf and we leave out the threads that did nothing where all of the machine's were asked for. */
function isOfAll(commandLine: readonly string[]): boolean {
  return commandLine.some((word) => word === '--all-cpus' || /^-[ABSnvqi]*a[ABSnvqi]*$/.test(word));
}

function sayDamage({ damage, isUnfinished }: PerfDataReader, err: Output): void {
  for (const line of lossLines([], damage.list())) err.line(err.style.yellow(`Lost: ${line}`));
  if (isUnfinished)
    err.line(
      err.style.yellow(
        'Note: the recording was not finished: what was counted after its last round is missing',
      ),
    );
}
