import { AliasNames } from './alias-names.ts';
import { CodeSymbols } from './code-symbols.ts';
import { overlapPieces } from './pieces.ts';
import { orderByAddress } from './sort-addresses.ts';
import type { SymbolRows } from './symbol-rows.ts';

const PAGE = 4096;

/**
 * One symbol per address, the best of those there. A symbol without a size reaches to the next
 * address, if there is one in the same region (`regions`, by row; absent: all is one), else
 * through the page after its own.
 *
 * One loop over all rows on purpose: it runs once, mostly before V8 has compiled it, so each
 * further loop costs as much again.
 */
export function bestSymbols(
  rows: SymbolRows,
  demangle: (name: string) => string,
  regions?: Uint16Array,
): CodeSymbols {
  const { count, start: rowStart, size: rowSize } = rows;
  const order = orderByAddress(rowStart.subarray(0, count));
  const first = new Uint32Array(count + 1);
  const names = new AliasNames(rows, order, first, demangle);
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  const isLabel = new Uint8Array(count);
  let symbols = 0;
  for (let at = 0; at < count; ) {
    const start = rowStart[order[at]!]!;
    let next = at + 1;
    while (next < count && rowStart[order[next]!] === start) next++;
    const isLast =
      next === count || (regions !== undefined && regions[order[next - 1]!] !== regions[order[next]!]);
    const nextStart = isLast ? (Math.ceil(start / PAGE) + 1) * PAGE : rowStart[order[next]!]!;
    const size = next === at + 1 ? rowSize[order[at]!]! : names.sizeOf(at, next);
    starts[symbols] = start;
    ends[symbols] = size > 0 ? start + size : nextStart;
    if (size === 0) isLabel[symbols] = 1;
    first[symbols++] = at;
    at = next;
  }
  first[symbols] = count;
  const symbolStarts = starts.subarray(0, symbols);
  const symbolEnds = ends.subarray(0, symbols);
  return new CodeSymbols(symbolStarts, symbolEnds, overlapPieces(symbolStarts, symbolEnds, isLabel), names);
}
