import { PERF_SAMPLE_CALLCHAIN, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError, didYouMean, nearestNames, printable } from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import { type Profile, unitOfEvent } from '@counterpoint/core/profile';
import {
  type CallTreeAnswer,
  callTree,
  type FrameFilter,
  isKeyOfEvent,
  isTraceKey,
  type JavascriptTime,
  parseSortKeys,
  type SortKey,
  type TopAnswer,
  type TopOptions,
  type TopRow,
  type TraceSortKey,
  topFunctions,
  traceFieldKeys,
} from '@counterpoint/core/query';
import type { Recording } from '../../open/index.ts';
import type { VerbContext } from '../common/args.ts';
import { formatDuration, percentText } from '../common/human.ts';
import { itraceOptions } from '../common/itrace-option.ts';
import {
  type CategoryShare,
  categoriesText,
  categoryShares,
  javascriptView,
  showJavascript,
} from '../common/javascript-option.ts';
import { lossLines } from '../common/loss-text.ts';
import type { Output } from '../common/output.ts';
import { ProgressLine } from '../common/progress.ts';
import {
  FILTERS,
  filterWords,
  notableDiagnostics,
  printDiagnostics,
  refuseCounts,
  refuseOthers,
  sampleFilter,
  statusOfAnswer,
} from '../common/recording-input.ts';
import { type RowColumn, sortColumn } from '../common/sort-columns.ts';
import { TraceLog } from '../common/trace-log.ts';
import { UsageError } from '../common/usage-error.ts';
import { headerAnswer, writeHeader } from './header.ts';
import type { ReportName } from './report.ts';

type Context = VerbContext<ReportName>;

/** What is asked for, looked at before anything is read. */
interface Request {
  sort: SortKey[] | undefined;
  direction: 'callees' | 'callers' | undefined;
  children: boolean;
  functions: FrameFilter;
  minimumPercent: number | undefined;
  limit: number;
  /** How JavaScript is shown; `fitting`: as its author sees it, where that can be had. */
  javascript: ReturnType<typeof javascriptView>;
}

type EventAnswer = (TopAnswer | CallTreeAnswer) & { javascript?: CategoryShare[] };

/** `report`: the functions that cost most, or the call tree, for each event. */
export async function reportProfile(context: Context, recording: Recording): Promise<number> {
  const { args, out, err } = context;
  if (args.boolean('header') && recording.isStream)
    throw new UsageError(
      '--header prints before the rows, but a stream has the header among its records',
      'Save the stream to a file first: `... > perf.data`, or print only the header: --header-only',
    );
  const request = { ...requestOf(args, await fieldKeysOf(recording)) };
  if (request.sort === undefined && request.direction === undefined && (await isWithoutPlaces(recording)))
    request.sort = ['trace'];
  const { profile, diagnostics } = await readProfile(context, recording, request);
  refuseCounts(args, recording);
  const javascript = showJavascript(profile, request.javascript, err);
  const samples = profile.events.reduce((sum, event) => sum + event.samples, 0);
  const events = wantedEvents(profile, args.string('event'));
  const answers = events.map((event): EventAnswer => {
    const shares = javascript === null ? [] : categoryShares(javascript, event);
    const answer = answerOf(profile, event, request, javascript);
    return shares.length === 0 ? answer : { ...answer, javascript: shares };
  });
  const emptyNote = answers.every(isEmpty) ? nothingPasses(args, profile) : null;

  const reader = args.boolean('header') ? await recording.reader() : null;
  if (args.boolean('json')) {
    const { loss, damage } = profile;
    const header = reader === null ? {} : { header: headerAnswer(reader) };
    out.json({ type: 'report', version: 1, ...header, events: answers, loss, damage, diagnostics });
    if (emptyNote !== null) err.line(err.style.yellow(`Note: ${emptyNote}`));
    return statusOfAnswer(args, { loss, damage, samples }, err);
  }
  if (reader !== null) writeHeader(reader, out);
  const lines = lossLines(profile.loss, profile.damage);
  for (const line of lines) out.line(out.style.yellow(`# Lost: ${line}`));
  if (answers.length === 0) out.line('# No samples.');
  answers.forEach((answer, place) => {
    if (place > 0) out.line();
    printHead(answer, lines.length > 0, out);
    if (answer.type === 'call-tree') printTree(answer, args.boolean('show-nr-samples'), out);
    else printRows(answer, args.boolean('show-nr-samples'), out);
  });
  if (emptyNote !== null) out.line(`# ${emptyNote}`);
  out.flush();
  const verbose = args.boolean('verbose');
  printDiagnostics(verbose ? diagnostics : notableDiagnostics(diagnostics, profile), err, verbose);
  return statusOfAnswer(args, { loss: profile.loss, damage: profile.damage, samples }, err);
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

function requestOf(args: Context['args'], fieldKeys: (word: string) => TraceSortKey[]): Request {
  const direction = treeDirection(args);
  if (direction !== undefined) {
    refuseOthers(args, '--tree', ['sort']);
    refuseOthers(args, '--tree', ['limit'], 'Leave out the small branches: --percent-limit 5');
  }
  const sort = args.string('sort');
  const dsos = args.list('dsos');
  const symbols = args.all('symbols').flatMap(splitNames);
  if (args.has('symbols') && symbols.length === 0) throw args.refuse('symbols', 'names of functions');
  return {
    sort: sort === undefined ? undefined : parseSortKeys(sort, fieldKeys),
    direction,
    children: args.boolean('children', true),
    functions: {
      ...(dsos.length > 0 ? { dsos: new Set(dsos) } : {}),
      ...(symbols.length > 0 ? { symbols: new Set(symbols) } : {}),
    },
    minimumPercent: args.number('percent-limit', { min: 0, max: 100, fraction: true }),
    limit: args.number('limit', { min: 1 }, Number.POSITIVE_INFINITY),
    javascript: javascriptOf(args),
  };
}

/** Who asks for binaries, or for other rows, asks for what was recorded. */
function javascriptOf(args: Context['args']): Request['javascript'] {
  const view = javascriptView(args);
  return view === 'fitting' && (isSortedByOthers(args.string('sort')) || args.has('dsos')) ? null : view;
}

/** By keys that JavaScript has no use for: its author looks at functions and lines. */
function isSortedByOthers(sort: string | undefined): boolean {
  return sort !== undefined && !/^(?:symbol,|sym,)?srcline$/.test(sort);
}

/** perf's words name the order of a chain the other way round: its caller-based graph has the roots first. */
const TREE_OF_PERF: Readonly<Record<string, string>> = { caller: 'callees', callee: 'callers' };

function treeDirection(args: Context['args']): Request['direction'] {
  const text = args.string('tree');
  const ours = text === undefined ? undefined : TREE_OF_PERF[text];
  if (ours !== undefined) {
    const order = ours === 'callees' ? 'from the roots down' : 'from each function up to its callers';
    const remedy = `perf's '${text}' is the tree ${order}: ${args.shown('tree')} ${ours} here.`;
    throw args.refuse('tree', 'callees, callers or none', remedy);
  }
  const chosen = args.choice('tree', ['callees', 'callers', 'none']);
  return chosen === 'none' ? undefined : chosen;
}

function answerOf(
  profile: Profile,
  event: number,
  { sort, direction, children, functions, minimumPercent, limit }: Request,
  javascript: JavascriptTime | null,
): TopAnswer | CallTreeAnswer {
  if (direction !== undefined) {
    const least = minimumPercent === undefined ? {} : { minimumPercent };
    return callTree(profile, { event, direction, ...functions, ...least });
  }
  const answer = topFunctions(profile, {
    event,
    children,
    ...functions,
    ...(javascript === null ? {} : javascriptRows(profile, javascript)),
    ...(sort === undefined ? {} : { sort: sortOfEvent(sort, profile.events[event]!.name) }),
  });
  const rows = answer.rows.filter((row) => row.percent >= (minimumPercent ?? 0)).slice(0, limit);
  return { ...answer, rows };
}

/**
 * The function that costs most comes first: above it would be those that start the program. Of
 * one process, neither its name nor where its code lies tells anything.
 */
function javascriptRows(
  { threads }: Profile,
  { pids }: JavascriptTime,
): Pick<TopOptions, 'sort' | 'javascriptFirst'> {
  const isAlone = pids.length === 1 && threads.pid.view().every((pid) => pid === pids[0]);
  return { javascriptFirst: true, sort: isAlone ? ['symbol'] : ['comm', 'symbol'] };
}

/** Fields of other events are no columns of this one, as in perf. */
function sortOfEvent(sort: readonly SortKey[], eventName: string): readonly SortKey[] {
  const own = sort.filter((key) => !isTraceKey(key) || isKeyOfEvent(key, eventName));
  return own.length > 0 ? own : sort;
}

function isEmpty(answer: TopAnswer | CallTreeAnswer): boolean {
  return (answer.type === 'call-tree' ? answer.roots : answer.rows).length === 0;
}

/** Why there is nothing to show, where a filter is why. */
function nothingPasses(args: Context['args'], profile: Profile): string | null {
  const given = filterWords(args, [...FILTERS, 'dsos', 'symbols', 'percent-limit']);
  if (given === '') return null;
  const names = profile.binaries.map(({ name }) => name);
  const unknown = args.list('dsos').filter((name) => name !== '[JIT]' && !names.includes(name));
  const hint = unknown.map((name) => didYouMean(nearestNames(name, names))).find((text) => text !== '') ?? '';
  const inlined = args.has('symbols') ? '. A function that was inlined counts as its caller.' : '';
  return `Nothing passes ${given}${printable(hint)}${inlined}`;
}

async function readProfile(
  { args, out, err }: Context,
  recording: Recording,
  { sort, direction, children, javascript }: Request,
): Promise<IngestResult> {
  using progress = new ProgressLine(err);
  const filter = await sampleFilter(args, recording);
  const itrace = await itraceOptions(args, 'report');
  using log = new TraceLog(itrace, out, err);
  // Awaited here: the progress line ends with this block.
  return await recording.profile({
    aggregate: true,
    innermostOnly: direction === undefined && !children && (javascript === 'fitting' || javascript === null),
    keepCpu: sort?.includes('cpu') === true,
    traceKeys: sort?.filter(isTraceKey) ?? [],
    ...(filter === undefined ? {} : { filter }),
    ...(itrace === null ? {} : { itrace }),
    ...log.options,
    onProgress: progress.listener(),
  });
}

/** Events with samples, or the one that is asked for. */
function wantedEvents(profile: Profile, name: string | undefined): number[] {
  const indices = profile.events
    .map((_, index) => index)
    .filter((index) => profile.events[index]!.samples > 0);
  if (name === undefined) return indices;
  const found = profile.events.findIndex((event) => event.name === name);
  if (found >= 0) return [found];
  const names = profile.events.map((event) => event.name);
  throw new CounterpointError(
    'ERR_NO_SUCH_EVENT',
    `the recording has no event "${name}"${didYouMean(nearestNames(name, names))}`,
    `It has: ${names.join(', ')}`,
  );
}

/** Names of C++ functions hold commas: `f<a,b>` is one name, so only commas outside brackets part names. */
function splitNames(text: string): string[] {
  const names = [''];
  let depth = 0;
  for (const char of text) {
    if ('<([{'.includes(char)) depth++;
    else if ('>)]}'.includes(char)) depth = Math.max(0, depth - 1);
    if (char === ',' && depth === 0) names.push('');
    else names[names.length - 1] += char;
  }
  return names.filter((name) => name !== '');
}

/** `3K`, `551K`: perf's round numbers. */
function roundCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${Math.floor(count / 1000)}K` : `${Math.floor(count / 1_000_000)}M`;
}

function printHead(answer: EventAnswer, hasLoss: boolean, out: Output): void {
  if (!hasLoss) out.line('# Nothing lost.\n#');
  out.line(`# Samples: ${roundCount(answer.samples)} of event '${printable(answer.event)}'`);
  const time =
    unitOfEvent(answer.event) === 'nanoseconds' ? ` (${formatDuration(Number(answer.sumPeriod))})` : '';
  out.line(`# Event count (approx.): ${answer.sumPeriod}${time}`);
  if (answer.javascript !== undefined) {
    out.line(`# Programs in JavaScript: ${categoriesText(answer.javascript)}`);
    out.line('# What V8 and the kernel did counts for the function that called them; --no-js shows it apart');
  }
  out.line('#');
}

/** As JavaScript developers write functions. */
const FUNCTION: RowColumn = {
  title: 'Function',
  isRight: false,
  cell: ({ symbol = '' }) => withoutKind(symbol),
};

/** Without V8's word for the kind of code. */
function withoutKind(symbol: string): string {
  return symbol.replace(/^(?:JS|Wasm):/, '');
}

function columnsOf(answer: EventAnswer & TopAnswer, withSamples: boolean): RowColumn[] {
  const isJavascript = answer.javascript !== undefined;
  const columns: RowColumn[] = [];
  const add = (title: string, cell: RowColumn['cell']) => columns.push({ title, isRight: true, cell });
  if (answer.children) {
    add('Children', (row) => percentText(row.percent));
    add('Self', (row) => percentText(row.selfPercent));
  } else add('Overhead', (row) => percentText(row.percent));
  if (withSamples) add('Samples', (row) => String(row.samples));
  for (const key of answer.sort) columns.push(isJavascript && key === 'symbol' ? FUNCTION : sortColumn(key));
  return columns;
}

/** The table as perf prints it: a head in comment lines, dots under it, two spaces between columns. */
function printRows(answer: EventAnswer & TopAnswer, withSamples: boolean, out: Output): void {
  const columns = columnsOf(answer, withSamples);
  const cells = answer.rows.map((row) => columns.map((column) => printable(column.cell(row))));
  const widths = columns.map(({ title }, i) =>
    cells.reduce((width, row) => Math.max(width, row[i]!.length), title.length),
  );
  // Percentages keep perf's width, so that the columns of different reports line up.
  columns.forEach(({ title }, i) => {
    if (title === 'Overhead' || title === 'Children' || title === 'Self') widths[i] = Math.max(widths[i]!, 8);
  });
  const join = (texts: string[]) =>
    texts
      .map((text, i) => (columns[i]!.isRight ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  out.line(`# ${join(columns.map(({ title }, i) => title.padEnd(widths[i]!)))}`);
  out.line(`# ${widths.map((width) => '.'.repeat(Math.min(width, 60))).join('  ')}`);
  out.line('#');
  answer.rows.forEach((row, i) => {
    out.line(colourRow(`  ${join(cells[i]!)}`, row, out));
  });
}

/** perf's colours: red from 5 %, green from 0.5 %. */
function colourRow(line: string, row: TopRow, out: Output): string {
  if (row.percent >= 5) return out.style.red(line);
  return row.percent >= 0.5 ? out.style.green(line) : line;
}

function printTree(answer: EventAnswer & CallTreeAnswer, withSamples: boolean, out: Output): void {
  out.line(
    answer.direction === 'callees'
      ? '# Call tree, roots first, callees below; self is the share of the function itself'
      : '# Functions by their own time, callers below',
  );
  out.line('#');
  printNodes(answer, withSamples, out);
  if (answer.direction === 'callees' && answer.hiddenPercent >= 0.005) {
    out.line(
      `${percentText(answer.hiddenPercent).padStart(8)}  in branches below the limit (--percent-limit)`,
    );
  }
}

/**
 * Depth first without recursion: chains can be thousands of frames deep. A single
 * child goes on in the same column.
 */
function printNodes(
  { roots, direction, javascript }: EventAnswer & CallTreeAnswer,
  withSamples: boolean,
  out: Output,
): void {
  const isDown = direction === 'callees';
  const work = roots.map((node) => ({ node, indent: '', mark: '' })).reverse();
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    const { node, indent, mark } = item;
    const self =
      isDown && node.selfPercent >= 0.005 ? out.style.dim(` self ${percentText(node.selfPercent)}`) : '';
    const samples = withSamples ? `  ${String(node.samples).padStart(10)}` : '';
    const share = percentText(node.percent).padStart(8) + samples;
    const isPlace = javascript === undefined || !/^\[J/.test(node.dso);
    const name = javascript === undefined ? node.name : withoutKind(node.name);
    const place = isPlace ? ` ${out.style.dim(`(${printable(node.dso)})`)}` : '';
    out.line(`${share}  ${indent}${mark}${printable(name)}${place}${self}`);
    const only = node.children.length === 1;
    const below = mark === '' || mark === '↑ ' ? indent : indent + (mark === '├─' ? '│ ' : '  ');
    for (let i = node.children.length - 1; i >= 0; i--) {
      const isLast = i === node.children.length - 1;
      work.push({
        node: node.children[i]!,
        indent: below,
        mark: only ? (isDown ? '' : '↑ ') : isLast ? '└─' : '├─',
      });
    }
  }
}
