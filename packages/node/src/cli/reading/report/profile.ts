import { PERF_SAMPLE_CALLCHAIN, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { optional } from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import {
  reportProfile as answerReport,
  type EventGroupAnswer,
  type OneEventAnswer,
  type ReportAnswer,
  type ReportOptions,
  reportNeeds,
  type TopAnswer,
  type TraceSortKey,
  traceFieldKeys,
} from '@counterpoint/core/query';
import type { Recording } from '../../../host/open/index.ts';
import type { VerbContext } from '../../common/args.ts';
import { itraceOptions } from '../../common/itrace-option.ts';
import { sayUnusedFolds } from '../../common/javascript-fold.ts';
import { sayNoJavascript } from '../../common/javascript-option.ts';
import { lossLines } from '../../common/loss-text.ts';
import type { Output } from '../../common/output.ts';
import { ProgressLine } from '../../common/progress.ts';
import {
  notableDiagnostics,
  printDiagnostics,
  refuseCounts,
  sampleFilter,
  statusOfAnswer,
} from '../../common/recording-input.ts';
import { printTable } from '../../common/row-table.ts';
import { sourceMapsOf } from '../../common/source-maps-option.ts';
import { showsInlined } from '../../common/source-options.ts';
import { TraceLog } from '../../common/trace-log.ts';
import { printGroupRows } from './event-group-text.ts';
import { printHead, printJavascript } from './head-text.ts';
import { headerAnswer, writeHeader } from './header.ts';
import { printHierarchy } from './hierarchy-text.ts';
import { noSamplesText } from './no-samples.ts';
import type { ReportName } from './report.ts';
import { nothingPasses, requestOf } from './request.ts';
import { columnsOfFields, type RowOptions, usualColumns } from './row-columns.ts';
import { printTree } from './tree-text.ts';

type Context = VerbContext<ReportName>;

/** `report`: the functions that cost most, or the call tree, for each event. */
export async function reportProfile(context: Context, recording: Recording): Promise<number> {
  const { args, out, err } = context;
  const { question, rows, isGrouped } = requestOf(args, await fieldKeysOf(recording));
  if (question.sort === undefined && question.tree === undefined && (await isWithoutPlaces(recording)))
    question.sort = ['trace'];
  const { profile, diagnostics, sourceMaps } = await readProfile(context, recording, question);
  refuseCounts(args, recording);
  const answer = answerReport(profile, isGrouped ? { ...question, groups: recording.groups } : question);
  const { events, loss, damage } = answer;
  sayUnusedFolds(answer.javascript?.unusedFolds ?? [], err);
  const isNamedView = question.javascript === 'charge' || question.javascript === 'categories';
  if (isNamedView && answer.javascript === null) sayNoJavascript(err);
  const samples = profile.events.reduce((sum, event) => sum + event.samples, 0);
  const emptyNote = events.every(isEmpty) ? nothingPasses(args, profile) : null;

  const reader = args.boolean('header') ? await recording.reader() : null;
  if (args.boolean('json')) {
    const header = reader === null ? {} : { header: headerAnswer(reader, recording.name) };
    const maps = sourceMaps === null || sourceMaps.scripts === 0 ? {} : { sourceMaps };
    out.json({ type: 'report', version: 1, ...header, events, loss, damage, diagnostics, ...maps });
    if (emptyNote !== null) err.line(err.style.yellow(`Note: ${emptyNote}`));
    return statusOfAnswer(args, { loss, damage, samples }, err);
  }
  const { isQuiet } = rows;
  if (reader !== null) writeHeader(reader, recording.name, out);
  const lines = lossLines(loss, damage);
  // What is missing is told in any case, beside the rows if they are to be alone.
  for (const line of lines) (isQuiet ? err : out).line(out.style.yellow(`# Lost: ${line}`));
  if (events.length === 0 && !isQuiet) out.line(`# ${await noSamplesText(recording)}`);
  const shown = { ...rows, hasLoss: lines.length > 0, withSamples: args.boolean('show-nr-samples') };
  printEvents(answer, question, shown, out);
  if (emptyNote !== null && !isQuiet) out.line(`# ${emptyNote}`);
  out.flush();
  const verbose = args.boolean('verbose');
  printDiagnostics(verbose ? diagnostics : notableDiagnostics(diagnostics, profile), err, verbose);
  return statusOfAnswer(args, { loss, damage, samples }, err);
}

/**
 * Tracepoints without call chains all lie in the kernel's tracing: what they recorded
 * tells them apart, as in perf.
 */
async function isWithoutPlaces(recording: Recording): Promise<boolean> {
  if (recording.isStream) return false;
  const { events } = (await recording.reader()).events;
  const isPlaceless = ({ attr, layout }: (typeof events)[number]) =>
    attr.type === PERF_TYPE_TRACEPOINT && (layout.sampleType & PERF_SAMPLE_CALLCHAIN) === 0;
  return events.length > 0 && events.filter(({ name }) => !name.startsWith('dummy')).every(isPlaceless);
}

/** Of a stream nothing is known yet: fields have to be named with their events. */
async function fieldKeysOf(recording: Recording): Promise<(word: string) => TraceSortKey[]> {
  if (recording.isStream) return () => [];
  const reader = await recording.reader();
  return (word) => traceFieldKeys(reader, word);
}

function isEmpty(answer: ReportAnswer['events'][number]): boolean {
  return (answer.type === 'call-tree' ? answer.roots : answer.rows).length === 0;
}

async function readProfile(
  { args, out, err }: Context,
  recording: Recording,
  question: ReportOptions,
): Promise<IngestResult> {
  using progress = new ProgressLine(err);
  const filter = await sampleFilter(args, recording);
  const itrace = await itraceOptions(args, 'report', undefined, recording);
  using log = new TraceLog(itrace, out, err);
  const { lines, ...needs } = reportNeeds(question);
  const isInlined = await showsInlined(args, recording, !needs.innermostOnly);
  // Awaited here: the progress line ends with this block.
  return await recording.profile({
    aggregate: true,
    ...sourceMapsOf(args),
    ...needs,
    debugInfo: isInlined ? 'inlines' : lines ? 'lines' : undefined,
    ...optional({ filter }),
    ...(itrace === null ? {} : { itrace }),
    ...log.options,
    onProgress: progress.listener(),
  });
}

/** A table or tree for each event, under what it is of. */
function printEvents(
  { events, javascript }: ReportAnswer,
  question: ReportOptions,
  rows: RowOptions & { hasLoss: boolean; withSamples: boolean },
  out: Output,
): void {
  const { isQuiet, hasLoss, withSamples } = rows;
  events.forEach((answer, place) => {
    if (place > 0) out.line();
    if (!isQuiet) printHead(answer, hasLoss, out);
    const shares = answer.type === 'event-group' ? undefined : answer.javascript;
    if (shares !== undefined && javascript !== null && !isQuiet)
      printJavascript(shares, javascript, question.javascript === 'categories', out);
    if (!isQuiet) out.line('#');
    if (answer.type === 'call-tree') printTree(answer, withSamples, isQuiet, out);
    else if (answer.type === 'hierarchy') printHierarchy(answer, withSamples, rows, out);
    else printRows(answer, withSamples, rows, out);
  });
}

function printRows(
  answer: (OneEventAnswer & TopAnswer) | EventGroupAnswer,
  withSamples: boolean,
  options: RowOptions,
  out: Output,
): void {
  const { sort, children } = answer;
  const isJavascript = answer.type !== 'event-group' && answer.javascript !== undefined;
  const columns =
    options.fields === null
      ? usualColumns({ sort, children, isJavascript, withSamples })
      : columnsOfFields(sort, options.fields);
  if (answer.type === 'event-group') printGroupRows(answer, columns, options, out);
  else printTable(columns, answer.rows, options, out);
}
