import type { Styles } from './styles.ts';

export interface TableColumn {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly align?: 'left' | 'right';
  readonly style?: (text: string) => string;
}

/** Columns as wide as their content, two spaces between; no padding after the last. */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  style: Styles,
): string {
  const widths = columns.map(({ title }, index) => {
    let width = displayWidth(title);
    for (const row of rows) width = Math.max(width, displayWidth(row[index] ?? ''));
    return width;
  });
  const lines: string[] = [];
  const put = (cells: readonly string[], paint: (text: string, index: number) => string) => {
    const parts = columns.map((column, index) => {
      const cell = cells[index] ?? '';
      const padding = ' '.repeat(widths[index]! - displayWidth(cell));
      const text = cell === '' ? '' : paint(cell, index);
      if (column.align === 'right') return padding + text;
      return index === columns.length - 1 ? text : text + padding;
    });
    lines.push(parts.join('  ').trimEnd());
  };
  if (columns.some(({ title }) => title !== ''))
    put(
      columns.map(({ title }) => title),
      style.bold,
    );
  for (const row of rows) put(row, (text, index) => columns[index]!.style?.(text) ?? text);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Code points; wide scripts are rare in symbol names, and a table that is off by one still reads. */
function displayWidth(text: string): number {
  let width = 0;
  for (const _ of text) width++;
  return width;
}
