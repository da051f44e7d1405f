import { isTraceKey, type SortKey } from './sort-keys.ts';
import type { TopRow } from './top-functions.ts';

/** What a row has for a sort key, as text: equal for rows that reports print equally. */
export function rowLabel(row: TopRow, key: SortKey): string {
  if (isTraceKey(key)) return row.trace?.[key] ?? '';
  return key === 'symbol' ? `${row.symbol} ${row.mode}` : String(row[key]);
}
