import { printable } from '@counterpoint/core/base';
import type { HierarchyAnswer, HierarchyRow } from '@counterpoint/core/query';
import { percentText } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import { sortColumn } from '../../common/sort-columns.ts';
import type { RowOptions } from './row-columns.ts';

/** Each level of rows stands so far to the right of the one above it. */
const INDENT = '   ';

/** The tree of rows as perf prints it: one column of names, a level for each sort key. */
export function printHierarchy(
  { rows, sort }: Pick<HierarchyAnswer, 'rows' | 'sort'>,
  withSamples: boolean,
  { separator, isQuiet }: Pick<RowOptions, 'separator' | 'isQuiet'>,
  out: Output,
): void {
  const counts = withSamples ? ['Overhead', 'Samples'] : ['Overhead'];
  const names = sort.map((key) => sortColumn(key).title).join(' / ');
  const line = ({ percent, samples, key, value }: HierarchyRow, depth: number) => {
    // The column of a key reads nothing but the key's own fields.
    const name = printable(sortColumn(key).cell({ ...NO_COUNTS, ...value }));
    const texts = [percentText(percent), ...(withSamples ? [String(samples)] : [])];
    if (separator !== null)
      return (
        INDENT.repeat(depth) + [...texts, name].map((text) => text.replaceAll(separator, '.')).join(separator)
      );
    const gap = ' '.repeat(2 + INDENT.length * (sort.length - 1));
    const cells = texts.map((text, at) => text.padStart(at === 0 ? 10 : 12)).join('  ');
    return `${INDENT.repeat(depth)}${cells}${gap}${name}`;
  };
  if (!isQuiet && separator !== null) out.line(`# ${[...counts, names].join(separator)}`);
  if (!isQuiet && separator === null) {
    const width = 8 + INDENT.length * (sort.length - 1) + (withSamples ? 14 : 0);
    const titles = counts.map((title, at) => title.padStart(at === 0 ? 10 : 12)).join('  ');
    out.line(`# ${titles.slice(-width).padStart(width)}  ${names}`);
    out.line(`# ${'.'.repeat(width)}  ${'.'.repeat(names.length)}`);
    out.line('#');
  }
  const print = (level: readonly HierarchyRow[], depth: number) => {
    for (const row of level) {
      const text = line(row, depth);
      out.line(row.percent >= 5 ? out.style.red(text) : text);
      print(row.rows, depth + 1);
    }
  };
  print(rows, 0);
}

const NO_COUNTS = { percent: 0, selfPercent: 0, samples: 0, selfPeriod: '0', totalPeriod: '0' };
