import { PERF_RECORD_COMM, PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import { CounterpointError, printable } from '@counterpoint/core/base';
import { type RecordedCounts, readCounts } from '@counterpoint/core/counts';
import { type LossEntry, LossLedger } from '@counterpoint/core/loss';
import { lossAtEnd, type PerfDataReader } from '@counterpoint/core/perfdata';
import { openRecording } from '../../../host/open/index.ts';
import { type Aggregation, recordedCpuPlace, recordedRuns } from '../../../linux/count/stat/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import { lossLines } from '../../common/loss-text.ts';
import type { Output } from '../../common/output.ts';
import { parseArguments } from '../../common/parse.ts';
import { inputName, sayCut } from '../../common/recording-input.ts';
import { UsageError } from '../../common/usage-error.ts';
import { formatOf, givenAggregation, localeHasCommas } from './forms.ts';
import { recordedAnswer } from './json.ts';
import { openResult } from './output.ts';
import { type PrintedRun, StatPrinter } from './printer.ts';
import type { StatReportName } from './report.ts';
import stat from './stat.ts';

type Arguments = VerbContext<StatReportName>['args'];

export async function runStatReport({ args, out, err }: VerbContext<StatReportName>): Promise<number> {
  const format = formatOf(args);
  const asked = givenAggregation(args);
  if (args.boolean('global') && asked !== null)
    throw new UsageError(`--global and ${args.shown(asked.name)} exclude each other`);
  const name = inputName(args);
  await using recording = await openRecording(name);
  const reader = await recording.reader();
  const counts = await readCounts(reader);
  const atEnd = new LossLedger();
  const missing = lossAtEnd(reader);
  if (missing !== null) atEnd.add(missing);
  if (counts === null || counts.rounds.every((round) => round.counts.length === 0)) {
    // Counts without the round that ends them are as good as none.
    const isCut = counts !== null || (missing !== null && !hasSamples(reader));
    if (isCut) return sayCut(err, 'count');
    throw noCounts(name, reader);
  }
  const by = args.boolean('global') ? 'all' : aggregationOf(args, counts);
  const output = args.string('output') ?? '-';
  const result = await openResult({ output, append: args.boolean('append') }, out, err);
  try {
    print(args, { name, reader, counts, by, format, loss: atEnd.list() }, result.output);
  } finally {
    result.close();
  }
  if (format !== 'json')
    for (const line of lossLines(atEnd.list(), reader.damage.list()))
      err.line(err.style.yellow(`Lost: ${line}`));
  return EXIT_OK;
}

function hasSamples({ recordCounts }: PerfDataReader): boolean {
  return recordCounts.has(PERF_RECORD_SAMPLE) || recordCounts.has(PERF_RECORD_COMM);
}

function noCounts(name: string, reader: PerfDataReader): CounterpointError {
  const what =
    reader.features.stat !== true && reader.events.events.length > 0
      ? 'a recording of samples'
      : 'no recording of counts';
  return new CounterpointError(
    'ERR_NO_COUNTS',
    `${name === '-' ? 'standard input' : printable(name)} has no counts: it is ${what}`,
    'To make one, use counterpoint stat record. To show samples, use counterpoint report.',
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
      : `${args.shown(asked.name)}: the recording does not say on which CPUs it counted`,
    by === 'thread' ? 'Record with -p, -t or -a --per-thread.' : 'Record whole CPUs (-a or -C).',
  );
}

interface Report {
  name: string;
  reader: PerfDataReader;
  counts: RecordedCounts;
  by: Aggregation;
  format: ReturnType<typeof formatOf>;
  /** What is missing at the end. */
  loss: readonly LossEntry[];
}

function print(args: Arguments, { name, reader, counts, by, format, loss }: Report, output: Output): void {
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
      answer: (runs, rows) => recordedAnswer({ ...facts, loss, damage: damage.list() }, runs, rows),
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
  const at = commandLine.indexOf('stat');
  return at >= 0 && asksForAll(commandLine.slice(at + 1));
}

/** The options before `record` and behind it, and none of the command's. */
function asksForAll(words: readonly string[]): boolean {
  try {
    const args = parseArguments(stat, words);
    return args.boolean('all-cpus') || (args.words[0] === 'record' && asksForAll(args.words.slice(1)));
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}
