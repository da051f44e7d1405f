import { isTraceKey, type PlainSortKey, type SortKey, type TopRow } from '@counterpoint/core/query';
import type { Column } from './row-table.ts';

/** A column of a report of functions. */
export type RowColumn = Column<TopRow>;

/** perf's own words, where it has some. */
const TITLES: Readonly<Record<PlainSortKey, string>> = {
  comm: 'Command',
  dso: 'Shared Object',
  symbol: 'Symbol',
  srcline: 'Source:Line',
  srcfile: 'Source File',
  pid: 'PID',
  thread: 'Pid:Command',
  tid: 'TID',
  cpu: 'CPU',
  role: 'Thread',
  tier: 'Tier',
  copy: 'Copy',
  parent: 'Parent symbol',
};

/** Code that no JIT compiler made has no tier. */
const NOTHING = '-';

export function sortColumn(key: SortKey): RowColumn {
  if (isTraceKey(key)) {
    const title = key === 'trace' ? 'Trace output' : key.slice(key.lastIndexOf('.') + 1);
    return { title, isRight: key !== 'trace', cell: ({ trace }) => trace?.[key] ?? '' };
  }
  const title = TITLES[key];
  if (key === 'symbol')
    return { title, isRight: false, cell: ({ mode = '.', symbol = '' }) => `[${mode}] ${symbol}` };
  if (key === 'tier' || key === 'copy') return { title, isRight: false, cell: (row) => row[key] || NOTHING };
  if (key === 'thread')
    return { title: `    ${title}`, isRight: false, cell: ({ thread = '' }) => threadText(thread) };
  return { title, isRight: NUMBERS.has(key), cell: (row) => String(row[key] ?? '') };
}

const NUMBERS: ReadonlySet<PlainSortKey> = new Set(['pid', 'tid', 'cpu'] as const);

/** perf's form: the numbers stand below each other. */
function threadText(thread: string): string {
  const colon = thread.indexOf(':');
  return `${thread.slice(0, colon).padStart(7)}${thread.slice(colon)}`;
}
