import { CounterpointError } from '../../base/index.ts';
import type { HierarchyRow } from '../query/row-hierarchy.ts';
import { NO_PARENT } from '../query/stack-parents.ts';
import type { TopAnswer, TopRow } from '../query/top-functions.ts';
import type { ReportOptions } from './report-options.ts';

/** The rows that are asked for, with the shares that are. */
export function chosenRows(
  answer: TopAnswer,
  { symbolPart, relative, onlyWithParent }: ReportOptions,
): TopRow[] {
  if (symbolPart !== undefined && !answer.sort.includes('symbol'))
    throw new CounterpointError(
      'ERR_SORT_KEY',
      "rows that are chosen by a part of a function's name have to be of functions",
      'Sort by symbol, too.',
    );
  const rows = answer.rows.filter(
    ({ symbol, parent }) =>
      (symbolPart === undefined || symbol?.includes(symbolPart) === true) &&
      !(onlyWithParent === true && parent === NO_PARENT),
  );
  if (relative !== true) return rows;
  const whole = rows.reduce((sum, { selfPercent }) => sum + selfPercent, 0);
  if (whole === 0) return rows;
  const scaled = (percent: number) => Math.min(100, (percent * 100) / whole);
  return rows.map((row) => ({
    ...row,
    percent: scaled(row.percent),
    selfPercent: scaled(row.selfPercent),
  }));
}

/** Rows below a share are left out, with all that is in them; of the first level only so many are kept. */
export function largestRows(
  rows: readonly HierarchyRow[],
  minimumPercent: number,
  limit = Number.POSITIVE_INFINITY,
): HierarchyRow[] {
  return rows
    .filter(({ percent }) => percent >= minimumPercent)
    .slice(0, limit)
    .map((row) => ({ ...row, rows: largestRows(row.rows, minimumPercent) }));
}
