import { printable } from '@counterpoint/core/base';
import { columnWidths } from './column-widths.ts';
import type { Output } from './output.ts';

/** A column of a table of rows. */
export interface Column<Row> {
  readonly title: string;
  readonly isRight: boolean;
  readonly cell: (row: Row) => string;
  /** It counts, and has no part in what rows are told apart by. */
  readonly isCount?: boolean;
}

export interface TableOptions {
  /** Between columns, in place of alignment; null: aligned. */
  separator: string | null;
  /** Rows only. */
  isQuiet: boolean;
}

/** Shares keep perf's width, so that the columns of different reports line up. */
const SHARES: ReadonlySet<string> = new Set(['Overhead', 'Children', 'Self']);

/** The table as perf prints it: a head in comment lines, dots under it, two spaces between columns. */
export function printTable<Row extends { percent: number }>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { separator, isQuiet }: TableOptions,
  out: Output,
): void {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => columns.map((column) => printable(column.cell(row))));
  if (separator !== null) {
    // As in perf, a separator inside of a cell is a dot.
    const joined = (texts: string[]) => texts.map((text) => text.replaceAll(separator, '.')).join(separator);
    if (!isQuiet) out.line(`# ${joined(titles)}`);
    for (const row of cells) out.line(joined(row));
    return;
  }
  const widths = columnWidths(titles, cells, out.columns).map((width, at) =>
    SHARES.has(titles[at]!) ? Math.max(width, 8) : width,
  );
  const join = (texts: string[]) =>
    texts
      .map((text, i) => (columns[i]!.isRight ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  const head = `# ${join(titles.map((title, i) => title.padEnd(widths[i]!)))}`;
  const last = widths.length - 1;
  const rules = widths.map((width, i) => '.'.repeat(i === last ? Math.min(width, 60) : width));
  if (!isQuiet) for (const line of [head, `# ${rules.join('  ')}`, '#']) out.line(line);
  rows.forEach((row, i) => {
    out.line(colourRow(`  ${join(cells[i]!)}`, row.percent, out));
  });
}

/** perf's colours: red from 5 %, green from 0.5 %. */
function colourRow(line: string, percent: number, out: Output): string {
  if (percent >= 5) return out.style.red(line);
  return percent >= 0.5 ? out.style.green(line) : line;
}
