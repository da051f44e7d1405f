import { PERF_SAMPLE_CALLCHAIN, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError, didYouMean, nearestNames, printable } from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import { type Profile, unitOfEvent } from '@counterpoint/core/profile';
import {
  type CallTreeAnswer,
  callTree,
  type EventGroupAnswer,
  type FrameFilter,
  groupEvents,
  type HierarchyAnswer,
  isKeyOfEvent,
  isTraceKey,
  type JavascriptTime,
  limitStacks,
  parseSortKeys,
  rowHierarchy,
  type SortKey,
  type StackEnd,
  type TopAnswer,
  type TopOptions,
  type TraceSortKey,
  topFunctions,
  traceFieldKeys,
} from '@counterpoint/core/query';
import type { Recording } from '../../open/index.ts';
import type { VerbContext } from '../common/args.ts';
import { formatDuration, percentText } from '../common/human.ts';
import { itraceOptions } from '../common/itrace-option.ts';
import { foldedFiles, type IsFolded, OF_NODE } from '../common/javascript-fold.ts';
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
import { printTable } from '../common/row-table.ts';
import { sourceMapsOf } from '../common/source-maps-option.ts';
import { showsInlined } from '../common/source-options.ts';
import { TraceLog } from '../common/trace-log.ts';
import { UsageError } from '../common/usage-error.ts';
import { printGroupRows, togetherShown } from './event-group-text.ts';
import { splitNames } from './function-names.ts';
import { headerAnswer, writeHeader } from './header.ts';
import { largestRows, printHierarchy } from './hierarchy-text.ts';
import { noSamplesText } from './no-samples.ts';
import type { ReportName } from './report.ts';
import {
  chosenRows,
  columnsOfFields,
  type RowOptions,
  rowOptions,
  sortOfFields,
  usualColumns,
  withoutKind,
} from './row-columns.ts';

type Context = VerbContext<ReportName>;

/** What is asked for, looked at before anything is read. */
interface Request {
  sort: SortKey[] | undefined;
  direction: 'callees' | 'callers' | undefined;
  children: boolean;
  functions: FrameFilter;
  minimumPercent: number | undefined;
  rows: RowOptions;
  limit: number;
  /** Of source files only the last part of the path. */
  shortPaths: boolean;
  /** How JavaScript is shown; `fitting`: as its author sees it, where that can be had. */
  javascript: ReturnType<typeof javascriptView>;
  /** How many frames of each stack are looked at; undefined: all. */
  maxStack: number | undefined;
  /** At which end of a stack its frames and its parent are looked for. */
  end: StackEnd;
  /** Functions that count as parents; undefined: the usual ones. */
  parent: RegExp | undefined;
  /** A level of rows for each sort key. */
  isHierarchy: boolean;
  /** Events of a group in one table. */
  isGrouped: boolean;
}

type OneEventAnswer = (TopAnswer | CallTreeAnswer | HierarchyAnswer) & { javascript?: CategoryShare[] };
type EventAnswer = OneEventAnswer | EventGroupAnswer;

/** `report`: the functions that cost most, or the call tree, for each event. */
export async function reportProfile(context: Context, recording: Recording): Promise<number> {
  const { args, out, err } = context;
  const request = { ...requestOf(args, await fieldKeysOf(recording)) };
  if (request.sort === undefined && request.direction === undefined && (await isWithoutPlaces(recording)))
    request.sort = ['trace'];
  const read = await readProfile(context, recording, request);
  const { diagnostics, sourceMaps } = read;
  const profile = cutStacks(read.profile, request);
  refuseCounts(args, recording);
  const byDefault = request.javascript === 'categories' ? [] : [OF_NODE];
  const isFolded = foldedFiles(args, byDefault, [profile], err);
  const javascript = showJavascript(profile, request.javascript, err, isFolded);
  const samples = profile.events.reduce((sum, event) => sum + event.samples, 0);
  const events = wantedEvents(profile, args.string('event'));
  const answers = request.isGrouped
    ? togetherShown(recording.groups, events).map((group) => groupAnswer(profile, group, request))
    : events.map((event): EventAnswer => {
        const shares = javascript === null ? [] : categoryShares(javascript, event);
        const answer = answerOf(profile, event, { ...request, isFolded }, javascript);
        return shares.length === 0 ? answer : { ...answer, javascript: shares };
      });
  const emptyNote = answers.every(isEmpty) ? nothingPasses(args, profile) : null;

  const reader = args.boolean('header') ? await recording.reader() : null;
  if (args.boolean('json')) {
    const { loss, damage } = profile;
    const header = reader === null ? {} : { header: headerAnswer(reader, recording.name) };
    const maps = sourceMaps === null || sourceMaps.scripts === 0 ? {} : { sourceMaps };
    out.json({ type: 'report', version: 1, ...header, events: answers, loss, damage, diagnostics, ...maps });
    if (emptyNote !== null) err.line(err.style.yellow(`Note: ${emptyNote}`));
    return statusOfAnswer(args, { loss, damage, samples }, err);
  }
  const { isQuiet } = request.rows;
  if (reader !== null) writeHeader(reader, recording.name, out);
  const lines = lossLines(profile.loss, profile.damage);
  // What is missing is told in any case, beside the rows if they are to be alone.
  for (const line of lines) (isQuiet ? err : out).line(out.style.yellow(`# Lost: ${line}`));
  if (answers.length === 0 && !isQuiet) out.line(`# ${await noSamplesText(recording)}`);
  answers.forEach((answer, place) => {
    if (place > 0) out.line();
    if (!isQuiet) printHead(answer, lines.length > 0, out);
    if (answer.type !== 'event-group' && answer.javascript !== undefined && !isQuiet)
      printJavascript(answer.javascript, { ...request, isFolded }, javascript?.namelessBinaries ?? [], out);
    if (!isQuiet) out.line('#');
    const withSamples = args.boolean('show-nr-samples');
    if (answer.type === 'call-tree') printTree(answer, withSamples, isQuiet, out);
    else if (answer.type === 'hierarchy') printHierarchy(answer, withSamples, request.rows, out);
    else printRows(answer, withSamples, request.rows, out);
  });
  if (emptyNote !== null && !isQuiet) out.line(`# ${emptyNote}`);
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
  const tree = treeOf(args);
  const { direction } = tree;
  if (direction !== undefined)
    refuseOthers(args, '--tree', ['sort', 'fields', 'symbol-filter', 'percentage']);
  const rows = rowOptions(args);
  const shape = shapeOf(args, direction);
  const parent = parentOf(args, direction);
  const sort = args.string('sort') ?? sortOfFields(rows) ?? undefined;
  const dsos = args.list('dsos');
  const symbols = args.all('symbols').flatMap(splitNames);
  if (args.has('symbols') && symbols.length === 0) throw args.refuse('symbols', 'names of functions');
  const isCumulated = args.boolean('children', rows.fields?.includes('overhead_children') ?? true);
  const keys = sort === undefined ? undefined : parseSortKeys(sort, fieldKeys);
  const isAdded = parent !== undefined && keys?.includes('parent') !== true;
  if (rows.hasParent && !isAdded && keys?.includes('parent') !== true)
    throw new UsageError(
      '--exclude-other needs rows with parents',
      'Give --parent REGEX, or sort by parent, too.',
    );
  return {
    sort: isAdded ? [...(keys ?? ['comm', 'dso', 'symbol']), 'parent'] : keys,
    direction,
    children: isCumulated && !shape.isHierarchy,
    end: isCumulated ? 'outermost' : 'innermost',
    maxStack: args.number('max-stack', { min: 1 }),
    parent,
    ...shape,
    functions: {
      ...(dsos.length > 0 ? { dsos: new Set(dsos) } : {}),
      ...(symbols.length > 0 ? { symbols: new Set(symbols) } : {}),
    },
    rows,
    minimumPercent: args.number('percent-limit', { min: 0, max: 100, fraction: true }) ?? tree.minimumPercent,
    limit: args.number('limit', { min: 1 }, Number.POSITIVE_INFINITY),
    shortPaths: !args.boolean('full-source-path') && !args.boolean('json'),
    javascript: javascriptOf(args),
  };
}

/** Tables of another form than one for each event. */
function shapeOf(
  args: Context['args'],
  direction: Request['direction'],
): Pick<Request, 'isHierarchy' | 'isGrouped'> {
  const [isHierarchy, isGrouped] = [args.boolean('hierarchy'), args.boolean('group')];
  if (!isHierarchy && !isGrouped) return { isHierarchy, isGrouped };
  const shape = isHierarchy ? '--hierarchy' : '--group';
  refuseOthers(args, shape, isHierarchy ? ['group', 'fields', 'fold'] : ['event', 'fold']);
  if (isHierarchy && args.boolean('children')) refuseOthers(args, shape, ['children']);
  if (args.boolean('js')) refuseOthers(args, shape, ['js']);
  if (direction !== undefined) throw new UsageError(`${shape} is of rows, and --tree has none`);
  return { isHierarchy, isGrouped };
}

function parentOf(args: Context['args'], direction: Request['direction']): RegExp | undefined {
  const text = args.string('parent');
  if (direction !== undefined) refuseOthers(args, '--tree', ['parent', 'exclude-other']);
  if (text === undefined) return undefined;
  try {
    return new RegExp(text);
  } catch (reason) {
    throw args.refuse('parent', 'a regular expression', String((reason as Error).message));
  }
}

/** Options of rows that JavaScript's own view has no use for. */
const OF_RECORDED = ['dsos', 'parent', 'max-stack', 'hierarchy', 'group'] as const;

/** Who asks for binaries, or for other rows, asks for what was recorded. */
function javascriptOf(args: Context['args']): Request['javascript'] {
  const view = javascriptView(args);
  const ofRecorded = isSortedByOthers(args.string('sort')) || OF_RECORDED.some((name) => args.has(name));
  return view === 'fitting' && ofRecorded ? null : view;
}

/** In trees it is their depth. Without callers in the rows there is nothing to cut. */
function cutStacks(profile: Profile, { maxStack, direction, children, sort, end }: Request): Profile {
  if (maxStack === undefined || direction !== undefined) return profile;
  return children || sort?.includes('parent') === true ? limitStacks(profile, maxStack, end) : profile;
}

/** One table of several events: shares and filters are each event's own, the least share is of the first. */
function groupAnswer(profile: Profile, group: readonly number[], request: Request): EventGroupAnswer {
  const [first, ...others] = group.map((event) => rowsOf(profile, event, request));
  const answer = groupEvents([first!, ...others]);
  const rows = answer.rows
    .filter(({ events }) => events[0]!.percent >= (request.minimumPercent ?? 0))
    .slice(0, request.limit);
  return { ...answer, rows };
}

/** By keys that JavaScript has no use for: its author looks at functions and lines. */
function isSortedByOthers(sort: string | undefined): boolean {
  return sort !== undefined && !/^(?:symbol,|sym,)?(?:srcline|srcfile)$/.test(sort);
}

/** perf's words name the order of a chain the other way round: its caller-based graph has the roots first. */
const TREE_OF_PERF: Readonly<Record<string, 'callees' | 'callers'>> = {
  caller: 'callees',
  callee: 'callers',
};

interface Tree {
  direction: Request['direction'];
  minimumPercent: number | undefined;
}

function treeOf(args: Context['args']): Tree {
  const text = args.string('tree');
  const inverted: Request['direction'] = args.boolean('inverted') ? 'callees' : undefined;
  if (text?.includes(',') === true)
    return { ...treeOfPerf(text, args), ...(inverted && { direction: inverted }) };
  const ours = text === undefined ? undefined : TREE_OF_PERF[text];
  if (ours !== undefined) {
    const order = ours === 'callees' ? 'from the roots down' : 'from each function up to its callers';
    const remedy = `perf's '${text}' is the tree ${order}: ${args.shown('tree')} ${ours} here.`;
    throw args.refuse('tree', 'callees, callers or none', remedy);
  }
  const chosen = args.choice('tree', ['callees', 'callers', 'none']);
  const direction = chosen === 'none' ? undefined : chosen;
  return { direction: direction ?? inverted, minimumPercent: undefined };
}

/** `graph,0.5,caller`: how it is drawn, the least share, the order; what is left out is as in perf. */
function treeOfPerf(text: string, args: Context['args']): Tree {
  const [kind = '', ...rest] = text.split(',').map((word) => word.trim());
  const expected = "callees, callers, none or perf's graph,PERCENT,caller";
  if (kind !== 'graph')
    throw args.refuse('tree', expected, 'Trees are drawn as graphs: shares are of everything.');
  let direction: Request['direction'] = 'callees';
  let minimumPercent: number | undefined;
  for (const word of rest) {
    const order = TREE_OF_PERF[word];
    if (order !== undefined) direction = order;
    else if (/^\d+(?:\.\d+)?$/.test(word) && minimumPercent === undefined && Number(word) <= 100)
      minimumPercent = Number(word);
    else throw args.refuse('tree', expected);
  }
  return { direction, minimumPercent };
}

function answerOf(
  profile: Profile,
  event: number,
  request: Request & { isFolded: IsFolded },
  javascript: JavascriptTime | null,
): TopAnswer | CallTreeAnswer | HierarchyAnswer {
  const { direction, functions, minimumPercent, limit, isFolded, maxStack } = request;
  if (direction !== undefined) {
    const least = minimumPercent === undefined ? {} : { minimumPercent };
    const deepest = maxStack === undefined ? {} : { maxDepth: maxStack };
    const tree = callTree(profile, { event, direction, ...functions, ...least, ...deepest });
    return { ...tree, roots: tree.roots.slice(0, limit) };
  }
  const answer = rowsOf(
    profile,
    event,
    request,
    javascript === null ? {} : javascriptRows(profile, javascript, isFolded),
  );
  if (request.isHierarchy) {
    const hierarchy = rowHierarchy(answer);
    return { ...hierarchy, rows: largestRows(hierarchy.rows, minimumPercent ?? 0, limit) };
  }
  const rows = answer.rows.filter((row) => row.percent >= (minimumPercent ?? 0)).slice(0, limit);
  return { ...answer, rows };
}

/** The rows that pass the filters of rows, each with the share that is asked for. */
function rowsOf(
  profile: Profile,
  event: number,
  { sort, children, end, functions, shortPaths, parent, rows }: Request,
  more: Partial<TopOptions> = {},
): TopAnswer {
  const answer = topFunctions(profile, {
    event,
    children,
    shortPaths,
    ...functions,
    ...more,
    parentEnd: end,
    ...(parent === undefined ? {} : { parent }),
    ...(sort === undefined ? {} : { sort: sortOfEvent(sort, profile.events[event]!.name) }),
  });
  return { ...answer, rows: chosenRows(answer, rows) };
}

/**
 * The function that costs most comes first: above it would be those that start the program. Of
 * one process, neither its name nor where its code lies tells anything.
 */
function javascriptRows(
  { threads }: Profile,
  { pids }: JavascriptTime,
  isFolded: IsFolded,
): Pick<TopOptions, 'sort' | 'javascriptFirst' | 'isFolded'> {
  const isAlone = pids.length === 1 && threads.pid.view().every((pid) => pid === pids[0]);
  return { javascriptFirst: true, isFolded, sort: isAlone ? ['symbol'] : ['comm', 'symbol'] };
}

/** Fields of other events are no columns of this one, as in perf. */
function sortOfEvent(sort: readonly SortKey[], eventName: string): readonly SortKey[] {
  const own = sort.filter((key) => !isTraceKey(key) || isKeyOfEvent(key, eventName));
  return own.length > 0 ? own : sort;
}

function isEmpty(answer: EventAnswer): boolean {
  return (answer.type === 'call-tree' ? answer.roots : answer.rows).length === 0;
}

/** Why there is nothing to show, where a filter is why. */
export function nothingPasses(args: Context['args'], profile: Profile): string | null {
  const given = filterWords(args, [...FILTERS, 'dsos', 'symbols', 'percent-limit']);
  if (given === '') return null;
  const names = profile.binaries.map(({ name }) => name);
  const unknown = args.list('dsos').filter((name) => name !== '[JIT]' && !names.includes(name));
  const hint = unknown.map((name) => didYouMean(nearestNames(name, names))).find((text) => text !== '') ?? '';
  const inlined = args.has('symbols')
    ? '. A function that was inlined counts as its caller; --inline shows it apart.'
    : '';
  return `Nothing passes ${given}${printable(hint)}${inlined}`;
}

async function readProfile(
  { args, out, err }: Context,
  recording: Recording,
  { sort, direction, children, javascript }: Request,
): Promise<IngestResult> {
  using progress = new ProgressLine(err);
  const filter = await sampleFilter(args, recording);
  const itrace = await itraceOptions(args, 'report', undefined, recording);
  using log = new TraceLog(itrace, out, err);
  const innermostOnly =
    direction === undefined &&
    !children &&
    sort?.includes('parent') !== true &&
    (javascript === 'fitting' || javascript === null);
  const isInlined = await showsInlined(args, recording, !innermostOnly);
  const hasLines = sort?.some((key) => key === 'srcline' || key === 'srcfile') === true;
  // Awaited here: the progress line ends with this block.
  return await recording.profile({
    aggregate: true,
    ...sourceMapsOf(args),
    innermostOnly,
    debugInfo: isInlined ? 'inlines' : hasLines ? 'lines' : undefined,
    keepCpu: sort?.includes('cpu') === true,
    traceKeys: sort?.filter(isTraceKey) ?? [],
    ...(filter === undefined ? {} : { filter }),
    ...(itrace === null ? {} : { itrace }),
    ...log.options,
    onProgress: progress.listener(),
  });
}

/** Events with samples, or the one that is asked for. */
export function wantedEvents(profile: Profile, name: string | undefined): number[] {
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

/** `3K`, `551K`: perf's round numbers. */
export function roundCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${Math.floor(count / 1000)}K` : `${Math.floor(count / 1_000_000)}M`;
}

function printHead(answer: EventAnswer, hasLoss: boolean, out: Output): void {
  if (!hasLoss) out.line('# Nothing lost.\n#');
  const events = answer.type === 'event-group' ? answer.events : [answer];
  const names = printable(events.map(({ event }) => event).join(', '));
  const samples = events.reduce((sum, event) => sum + event.samples, 0);
  out.line(`# Samples: ${roundCount(samples)} of event${events.length > 1 ? 's' : ''} '${names}'`);
  const isTime = events.every(({ event }) => unitOfEvent(event) === 'nanoseconds');
  const sum = events.reduce((total, { sumPeriod }) => total + BigInt(sumPeriod), 0n);
  out.line(`# Event count (approx.): ${sum}${isTime ? ` (${formatDuration(Number(sum))})` : ''}`);
}

function printJavascript(
  shares: readonly CategoryShare[],
  { isFolded, javascript }: Request & { isFolded: IsFolded },
  namelessBinaries: readonly string[],
  out: Output,
): void {
  out.line(`# Programs in JavaScript: ${categoriesText(shares)}`);
  if (shares.some(({ category }) => category === 'nameless')) {
    const names = printable(namelessBinaries.join(', '));
    const hint = `no names are known of ${names}, so its GC, compilation and builtins cannot be told apart`;
    out.line(out.style.yellow(`# Code without names: ${hint}`));
    out.line(out.style.yellow('# (report on the recorded machine, or give a copy of the file: --symfs DIR)'));
  }
  if (javascript === 'categories') return;
  const isNodeFolded = isFolded('node:fs');
  const who = isNodeFolded ? 'Node, V8 and the kernel' : 'V8 and the kernel';
  out.line(`# What ${who} did counts for the function of the program that called them`);
  out.line(
    `# (${isNodeFolded ? '--no-fold shows functions of Node apart, ' : ''}--no-js shows everything apart)`,
  );
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

function printTree(
  answer: OneEventAnswer & CallTreeAnswer,
  withSamples: boolean,
  isQuiet: boolean,
  out: Output,
): void {
  if (isQuiet) {
    printNodes(answer, withSamples, out);
    return;
  }
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
  { roots, direction, javascript }: OneEventAnswer & CallTreeAnswer,
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
