import type { SortKey, TopRow } from '@counterpoint/core/query';

/** A column of a table of rows. */
export interface RowColumn {
  readonly title: string;
  readonly isRight: boolean;
  readonly cell: (row: TopRow) => string;
}

/** perf's own words, where it has some. */
const TITLES: Readonly<Record<SortKey, string>> = {
  comm: 'Command',
  dso: 'Shared Object',
  symbol: 'Symbol',
  pid: 'PID',
  tid: 'TID',
  cpu: 'CPU',
  tier: 'Tier',
  copy: 'Copy',
};

/** Code that no JIT compiler made has no tier. */
const NOTHING = '-';

export function sortColumn(key: SortKey): RowColumn {
  const title = TITLES[key];
  if (key === 'symbol')
    return { title, isRight: false, cell: ({ mode = '.', symbol = '' }) => `[${mode}] ${symbol}` };
  if (key === 'tier' || key === 'copy') return { title, isRight: false, cell: (row) => row[key] || NOTHING };
  return { title, isRight: NUMBERS.has(key), cell: (row) => String(row[key] ?? '') };
}

const NUMBERS: ReadonlySet<SortKey> = new Set(['pid', 'tid', 'cpu'] as const);
