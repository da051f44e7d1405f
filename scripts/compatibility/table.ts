/** The table of the page: written from what was run, and read back by its test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cell, CHECKS } from './checks.ts';
import { writePrograms } from './program.ts';
import { attached, ENTRY, launched } from './run.ts';

/** By row (`names of compiled functions, attached`), what one Node has. */
export type Column = ReadonlyMap<string, Cell>;

export const WAYS = ['launched', 'attached'] as const;

export async function columnOf(node: string): Promise<Column> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-compatibility-'));
  try {
    const programs = writePrograms(folder, ENTRY);
    const column = new Map<string, Cell>();
    for (const way of WAYS) {
      const recorded = await (way === 'launched' ? launched : attached)(node, programs, folder);
      for (const { what, isLaunchedOnly, cell } of CHECKS)
        if (way === 'launched' || isLaunchedOnly !== true) column.set(`${what}, ${way}`, cell(recorded));
    }
    return column;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A row for each check, with both ways: `yes / no`. */
export function tableText(columns: ReadonlyMap<string, Column>): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = row(['', ...columns.keys()]);
  const rule = row(['---', ...Array.from(columns, () => '---')]);
  const rows = CHECKS.map(({ what }) =>
    row([what, ...Array.from(columns.values(), (column) => cellText(column, what))]),
  );
  return [head, rule, ...rows].join('\n');
}

export function cellText(column: Column, what: string): string {
  const cells = WAYS.map((way) => column.get(`${what}, ${way}`)).filter((cell) => cell !== undefined);
  return cells.length === 2 && cells[0] === cells[1] ? cells[0]! : cells.join(' / ');
}

/** Of a page: by version, the cells of its column by what they are about. */
export function readTable(page: string): Map<string, Map<string, string>> {
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('| ---'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [head, ...body] = rows;
  return new Map(
    (head ?? [])
      .slice(1)
      .map((version, at) => [version, new Map(body.map((cells) => [cells[0]!, cells[at + 1]!]))]),
  );
}
