import { checkArgument, hasMembers } from '../../base/index.ts';
import { rowLabel } from './row-label.ts';
import { isTraceKey, type SortKey } from './sort-keys.ts';
import type { TopAnswer, TopRow } from './top-functions.ts';

/** One row of `HierarchyAnswer`: a value of the sort key of its depth, with its parts below it. */
export interface HierarchyRow {
  /** The sort key that the row is told apart by. */
  key: SortKey;
  /** Its value, as `TopRow` has it; for functions with `mode`, for lines with `source`. */
  value: Partial<TopRow>;
  /** Share of the event's sum, in percent. */
  percent: number;
  /** How many samples are in it. */
  samples: number;
  /** Sum of their periods, decimal, in the unit of the answer. */
  period: string;
  /** The rows of the next sort key, the largest first; empty for those of the last one. */
  rows: HierarchyRow[];
}

/** What `reportProfile()` says of an event in levels of rows. */
export interface HierarchyAnswer extends Omit<TopAnswer, 'type' | 'rows' | 'children' | 'rowCount'> {
  /** Tells this answer from others. */
  type: 'hierarchy';
  /** The rows of the first sort key, the largest first. */
  rows: HierarchyRow[];
}

/** A row while its parts are summed. */
interface Draft {
  key: SortKey;
  example: TopRow;
  samples: number;
  period: bigint;
  parts: Map<string, Draft>;
}

/**
 * The rows of `topFunctions()` (own time) as a tree with a level for each sort key, as `perf report
 * --hierarchy` has it: commands, in them binaries, in these functions.
 */
export function rowHierarchy(answer: TopAnswer): HierarchyAnswer {
  const isRight = hasMembers(answer, { rows: 'object', sort: 'object' });
  checkArgument(isRight, 'rowHierarchy()', 'the answer', answer, 'an answer of topFunctions()');
  const { type: _type, rows, children: _children, rowCount: _rowCount, ...rest } = answer;
  const roots = new Map<string, Draft>();
  for (const row of rows) {
    let level = roots;
    for (const key of answer.sort) {
      const label = rowLabel(row, key);
      let draft = level.get(label);
      if (draft === undefined)
        level.set(label, (draft = { key, example: row, samples: 0, period: 0n, parts: new Map() }));
      draft.samples += row.samples;
      draft.period += BigInt(row.selfPeriod);
      level = draft.parts;
    }
  }
  // The shares may be of less than the event's sum: what one row says of it holds for all.
  const known = rows.find(({ selfPercent }) => selfPercent > 0);
  const factor = known === undefined ? 0 : known.selfPercent / Number(known.selfPeriod);
  return { type: 'hierarchy', ...rest, rows: finishedRows(roots, factor) };
}

/** As many levels as there are sort keys: recursion is bounded. */
function finishedRows(drafts: ReadonlyMap<string, Draft>, factor: number): HierarchyRow[] {
  return [...drafts]
    .sort(([a, { period: left }], [b, { period: right }]) =>
      left === right ? (a < b ? -1 : 1) : left < right ? 1 : -1,
    )
    .map(([, { key, example, samples, period, parts }]) => ({
      key,
      value: fieldsOf(example, key),
      percent: Number(period) * factor,
      samples,
      period: period.toString(),
      rows: finishedRows(parts, factor),
    }));
}

/** What of a row is about one sort key. */
function fieldsOf(row: TopRow, key: SortKey): Partial<TopRow> {
  if (isTraceKey(key)) return { trace: { [key]: row.trace?.[key] ?? '' } };
  const { mode, file, line, column, source } = row;
  const more = key === 'symbol' ? { mode, file, line, column } : key === 'srcline' ? { source } : {};
  const present = Object.entries(more).filter(([, value]) => value !== undefined);
  return { [key]: row[key], ...Object.fromEntries(present) };
}
