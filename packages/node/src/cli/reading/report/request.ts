import { didYouMean, nearestNames, optional, printable } from '@counterpoint/core/base';
import type { Profile } from '@counterpoint/core/profile';
import {
  type FrameFilter,
  parseSortKeys,
  type ReportOptions,
  type TraceSortKey,
} from '@counterpoint/core/query';
import type { VerbContext } from '../../common/args.ts';
import { foldedNames } from '../../common/javascript-fold.ts';
import { javascriptView } from '../../common/javascript-option.ts';
import { FILTERS, filterWords, refuseOthers } from '../../common/recording-input.ts';
import { UsageError } from '../../common/usage-error.ts';
import { splitNames } from './function-names.ts';
import type { ReportName } from './report.ts';
import { type RowOptions, rowOptions, sortOfFields } from './row-columns.ts';

type Arguments = VerbContext<ReportName>['args'];

/** What is asked for, looked at before anything is read. */
export interface Request {
  /** What is asked of the profile. */
  question: ReportOptions;
  /** How rows are printed. */
  rows: RowOptions;
  /** Events of a group stand in one table. */
  isGrouped: boolean;
}

/** `fieldKeys` has the fields of tracepoints that a word stands for. */
export function requestOf(args: Arguments, fieldKeys: (word: string) => TraceSortKey[]): Request {
  const { direction, minimumPercent } = treeOf(args);
  if (direction !== undefined)
    refuseOthers(args, '--tree', ['sort', 'fields', 'symbol-filter', 'percentage']);
  const rows = rowOptions(args);
  const { isHierarchy, isGrouped } = shapeOf(args, direction);
  const parent = parentOf(args, direction);
  const sortText = args.string('sort') ?? sortOfFields(rows) ?? undefined;
  const sort = sortText === undefined ? undefined : parseSortKeys(sortText, fieldKeys);
  if (args.boolean('exclude-other') && parent === undefined && sort?.includes('parent') !== true)
    throw new UsageError(
      '--exclude-other needs rows with parents',
      'Give --parent REGEX, or sort by parent, too.',
    );
  const isByFunction = sort === undefined || sort.includes('symbol');
  if (args.has('symbol-filter') && !isByFunction)
    throw new UsageError('--symbol-filter needs rows of functions', 'Sort by symbol, too.');
  const question = optional({
    event: args.string('event'),
    sort,
    tree: direction,
    children: args.boolean('children', rows.fields?.includes('overhead_children') ?? true),
    hierarchy: isHierarchy,
    maxStack: args.number('max-stack', { min: 1 }),
    parent,
    onlyWithParent: args.boolean('exclude-other'),
    ...filterOf(args),
    symbolPart: args.string('symbol-filter'),
    relative: args.choice('percentage', ['relative', 'absolute']) === 'relative',
    minimumPercent: args.number('percent-limit', { min: 0, max: 100, fraction: true }) ?? minimumPercent,
    limit: args.number('limit', { min: 1 }),
    shortPaths: !args.boolean('full-source-path') && !args.boolean('json'),
    javascript: viewOf(args),
    fold: foldedNames(args),
  });
  return { question, rows, isGrouped };
}

function filterOf(args: Arguments): FrameFilter {
  const dsos = args.list('dsos');
  const symbols = args.all('symbols').flatMap(splitNames);
  if (args.has('symbols') && symbols.length === 0) throw args.refuse('symbols', 'names of functions');
  return optional({
    dsos: dsos.length > 0 ? new Set(dsos) : undefined,
    symbols: symbols.length > 0 ? new Set(symbols) : undefined,
  });
}

/** Options of rows that JavaScript's own view has no use for. */
const OF_RECORDED = ['dsos', 'parent', 'max-stack', 'group'] as const;

/** The usual view depends on the rows; columns that --fields names change nothing about it. */
function viewOf(args: Arguments): ReportOptions['javascript'] {
  const view = javascriptView(args);
  if (view !== 'fitting') return view;
  return args.has('fields') && !OF_RECORDED.some((name) => args.has(name)) ? 'fitting' : undefined;
}

/** Tables of another form than one for each event. */
function shapeOf(
  args: Arguments,
  direction: Tree['direction'],
): { isHierarchy: boolean; isGrouped: boolean } {
  const [isHierarchy, isGrouped] = [args.boolean('hierarchy'), args.boolean('group')];
  if (!isHierarchy && !isGrouped) return { isHierarchy, isGrouped };
  const shape = isHierarchy ? '--hierarchy' : '--group';
  refuseOthers(args, shape, isHierarchy ? ['group', 'fields', 'fold'] : ['event', 'fold']);
  if (isHierarchy && args.boolean('children')) refuseOthers(args, shape, ['children']);
  if (args.boolean('js')) refuseOthers(args, shape, ['js']);
  if (direction !== undefined) throw new UsageError(`${shape} is of rows, and --tree has none`);
  return { isHierarchy, isGrouped };
}

function parentOf(args: Arguments, direction: Tree['direction']): RegExp | undefined {
  const text = args.string('parent');
  if (direction !== undefined) refuseOthers(args, '--tree', ['parent', 'exclude-other']);
  if (text === undefined) return undefined;
  try {
    return new RegExp(text);
  } catch (reason) {
    throw args.refuse('parent', 'a regular expression', String((reason as Error).message));
  }
}

/** perf's words name the order of a chain the other way round: its caller-based graph has the roots first. */
const TREE_OF_PERF: Readonly<Record<string, 'callees' | 'callers'>> = {
  caller: 'callees',
  callee: 'callers',
};

interface Tree {
  direction: 'callees' | 'callers' | undefined;
  minimumPercent: number | undefined;
}

function treeOf(args: Arguments): Tree {
  const text = args.string('tree');
  const inverted: Tree['direction'] = args.boolean('inverted') ? 'callees' : undefined;
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
function treeOfPerf(text: string, args: Arguments): Tree {
  const [kind = '', ...rest] = text.split(',').map((word) => word.trim());
  const expected = "callees, callers, none or perf's graph,PERCENT,caller";
  if (kind !== 'graph')
    throw args.refuse('tree', expected, 'Trees are drawn as graphs: shares are of everything.');
  let direction: Tree['direction'] = 'callees';
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

/** Why there is nothing to show, where a filter is why. */
export function nothingPasses(args: Arguments, profile: Profile): string | null {
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
