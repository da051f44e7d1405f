import type { SortKey } from '@counterpoint/core/query';
import { percentText } from '../../common/human.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { type RowColumn, sortColumn } from '../../common/sort-columns.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { ReportName } from './report.ts';

type Arguments = Pick<
  ParsedArguments<ReportName>,
  'has' | 'string' | 'list' | 'choice' | 'refuse' | 'boolean'
>;

/** perf's names of columns that are no sort keys. */
const COLUMNS: Readonly<Record<string, RowColumn>> = {
  overhead: countColumn('Overhead', (row) => percentText(row.selfPercent)),
  overhead_children: countColumn('Children', (row) => percentText(row.percent)),
  sample: countColumn('Samples', (row) => String(row.samples)),
  period: countColumn('Period', (row) => row.selfPeriod),
};

function countColumn(title: string, cell: RowColumn['cell']): RowColumn {
  return { title, isRight: true, cell, isCount: true };
}

/** How rows are shown. */
export interface RowOptions {
  /** perf's `-F`: columns in this order, a sort key or a name of `COLUMNS`; null: the usual ones. */
  fields: readonly string[] | null;
  /** Between columns, in place of alignment; null: aligned. */
  separator: string | null;
  /** Rows only. */
  isQuiet: boolean;
}

export function rowOptions(args: Arguments): RowOptions {
  const fields = args.has('fields') ? args.list('fields').map((field) => field.trim()) : null;
  if (fields !== null && args.has('sort'))
    throw new UsageError('--fields names the sort keys, too', 'Leave out --sort.');
  const separator = args.string('field-separator') ?? null;
  return { fields, separator, isQuiet: args.boolean('quiet') };
}

/** The sort keys among `fields`; null if there are none. */
export function sortOfFields({ fields }: RowOptions): string | null {
  const keys = (fields ?? []).filter((field) => COLUMNS[field] === undefined);
  return keys.length > 0 ? keys.join(',') : null;
}

/** The column of a field that is no sort key. */
function plainColumn(field: string): RowColumn | null {
  return COLUMNS[field] ?? null;
}

/** As JavaScript developers write functions. */
const FUNCTION: RowColumn = {
  title: 'Function',
  isRight: false,
  cell: ({ symbol = '' }) => withoutKind(symbol),
};

/** Without V8's word for the kind of code. */
export function withoutKind(symbol: string): string {
  return symbol.replace(/^(?:JS|Wasm):/, '');
}

/** What rows are made of, as far as columns depend on it. */
interface RowsOf {
  sort: readonly SortKey[];
  children: boolean;
  /** As the author of a JavaScript program looks at it. */
  isJavascript: boolean;
  withSamples: boolean;
}

/** The usual columns. */
export function usualColumns({ sort, children, isJavascript, withSamples }: RowsOf): RowColumn[] {
  const columns: RowColumn[] = [];
  const add = (title: string, cell: RowColumn['cell']) => columns.push(countColumn(title, cell));
  const self = () => add('Self', (row) => percentText(row.selfPercent));
  if (children) {
    // The column that rows are sorted by stands first.
    if (isJavascript) self();
    add('Children', (row) => percentText(row.percent));
    if (!isJavascript) self();
  } else add('Overhead', (row) => percentText(row.percent));
  if (withSamples) add('Samples', (row) => String(row.samples));
  for (const key of sort) columns.push(isJavascript && key === 'symbol' ? FUNCTION : sortColumn(key));
  return columns;
}

/** In the order of --fields; `symbol` may be there by another name (`sym`). */
export function columnsOfFields(sort: readonly SortKey[], fields: readonly string[]): RowColumn[] {
  const keys = [...sort];
  const columns = fields.flatMap((field): RowColumn[] => {
    const plain = plainColumn(field);
    if (plain !== null) return [plain];
    const key = keys.shift();
    return key === undefined ? [] : [sortColumn(key)];
  });
  // A word such as sched_switch.* stands for several.
  return [...columns, ...keys.map(sortColumn)];
}
