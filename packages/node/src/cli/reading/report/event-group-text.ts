import type { EventGroupAnswer, GroupRow, TopRow } from '@counterpoint/core/query';
import type { Output } from '../../common/output.ts';
import { type Column, printTable } from '../../common/row-table.ts';
import type { RowColumn } from '../../common/sort-columns.ts';
import type { RowOptions } from './row-columns.ts';

/** The rows, with what each event counted side by side. */
export function printGroupRows(
  { rows }: EventGroupAnswer,
  columns: readonly RowColumn[],
  options: Pick<RowOptions, 'separator' | 'isQuiet'>,
  out: Output,
): void {
  const table = columns.map((column) => groupColumn(column, rows, options.separator !== null));
  printTable(
    table,
    rows.map((row) => ({ ...row, percent: row.events[0]!.percent })),
    options,
    out,
  );
}

type ShownRow = GroupRow & { percent: number };

function groupColumn(column: RowColumn, rows: readonly GroupRow[], isPlain: boolean): Column<ShownRow> {
  const { title, isRight, isCount = false } = column;
  // What tells rows apart is the same for all events.
  const cellOf = (row: GroupRow, at: number) => column.cell({ ...row, ...row.events[at]! } as TopRow);
  if (!isCount) return { title, isRight, cell: (row) => cellOf(row, 0) };
  const widths = (rows[0]?.events ?? []).map((_, at) =>
    Math.max(...rows.map((row) => cellOf(row, at).length)),
  );
  const texts = (row: GroupRow) => row.events.map((_, at) => cellOf(row, at));
  return {
    title,
    isRight,
    cell: (row) =>
      isPlain
        ? texts(row).join(' ')
        : texts(row)
            .map((text, at) => text.padStart(widths[at]!))
            .join('  '),
  };
}
