import { isTraceKey, type PlainSortKey, type SortKey, type TopRow } from '@counterpoint/core/query';

/** A column of a table of rows. */
export interface RowColumn {
  readonly title: string;
  readonly isRight: boolean;
  readonly cell: (row: TopRow) => string;
}

/** perf's own words, where it has some. */
const TITLES: Readonly<Record<PlainSortKey, string>> = {
  comm: 'Command',
  dso: 'Shared Object',
  symbol: 'Symbol',
  srcline: 'Source:Line',
  pid: 'PID',
  tid: 'TID',
  cpu: 'CPU',
  role: 'Thread',
  tier: 'Tier',
  copy: 'Copy',
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
  return { title, isRight: NUMBERS.has(key), cell: (row) => String(row[key] ?? '') };
}

const NUMBERS: ReadonlySet<PlainSortKey> = new Set(['pid', 'tid', 'cpu'] as const);
