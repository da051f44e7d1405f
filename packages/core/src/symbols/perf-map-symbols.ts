import type { PerfMap } from '../jit/index.ts';
import { CodeSymbols, type NameSource } from './code-symbols.ts';
import type { Pieces } from './pieces.ts';
import { orderByAddress } from './sort-addresses.ts';

/**
 * The table of a perf map. Memory of dead code is used again, and the map has no times: of lines that overlap, the last
 * one written has the bytes, as it replaced what was there.
 *
 *     lines    1 [ old                )
 *              2      [ new   )
 *     pieces     [ 1 )[ 2     )[ 1    )
 */
export function perfMapSymbols(map: PerfMap): CodeSymbols {
  const order = orderByAddress(map.start.subarray(0, map.count));
  const pieces = latestPieces(map, order);

  // Lines whose bytes all belong to later ones are forgotten, and with them their names.
  const symbolOfLine = new Int32Array(map.count).fill(-1);
  for (let piece = 0; piece < pieces.symbol.length; piece++) symbolOfLine[pieces.symbol[piece]!] = 0;
  const alive = new Uint32Array(map.count);
  let count = 0;
  for (let at = 0; at < order.length; at++) {
    const line = order[at]!;
    if (symbolOfLine[line] === -1) continue;
    symbolOfLine[line] = count;
    alive[count++] = line;
  }
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  for (let symbol = 0; symbol < count; symbol++) {
    starts[symbol] = map.start[alive[symbol]!]!;
    ends[symbol] = map.end[alive[symbol]!]!;
  }
  for (let piece = 0; piece < pieces.symbol.length; piece++)
    pieces.symbol[piece] = symbolOfLine[pieces.symbol[piece]!]!;
  return new CodeSymbols(starts, ends, pieces, new LineNames(map, alive.subarray(0, count)));
}

/** Pieces of the lines, in ascending order, by line; the highest line number wins. */
function latestPieces(map: PerfMap, order: Uint32Array): Pieces {
  const pieces: Pieces = {
    start: new Float64Array(2 * map.count),
    end: new Float64Array(2 * map.count),
    symbol: new Uint32Array(2 * map.count),
  };
  let count = 0;
  const open = new LatestFirst(map.count);
  let from = Number.NEGATIVE_INFINITY;
  for (let at = 0; at <= order.length; at++) {
    const to = at < order.length ? map.start[order[at]!]! : Number.POSITIVE_INFINITY;
    while (open.size > 0 && from < to) {
      const line = open.latest;
      const end = Math.min(map.end[line]!, to);
      if (end > from) {
        pieces.start[count] = from;
        pieces.end[count] = end;
        pieces.symbol[count++] = line;
        from = end;
      }
      if (map.end[line]! <= to) open.drop();
    }
    from = to;
    if (at < order.length) open.add(order[at]!);
  }
  return {
    start: pieces.start.subarray(0, count),
    end: pieces.end.subarray(0, count),
    symbol: pieces.symbol.subarray(0, count),
  };
}

/** A heap of line numbers, the highest on top. */
class LatestFirst {
  size = 0;
  private readonly heap: Uint32Array;

  constructor(capacity: number) {
    this.heap = new Uint32Array(capacity);
  }

  get latest(): number {
    return this.heap[0]!;
  }

  add(line: number): void {
    const { heap } = this;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! >= line) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = line;
  }

  /** Removes the highest. */
  drop(): void {
    const { heap } = this;
    const moved = heap[--this.size]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && heap[child + 1]! > heap[child]!) child++;
      if (heap[child]! <= moved) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moved;
  }
}

const decoder = new TextDecoder();

/** Names of lines, as written: perf does not demangle them. Keeps only the bytes of names that can still be asked for. */
class LineNames implements NameSource {
  private readonly bytes: Uint8Array;
  private readonly offsets: Uint32Array;

  constructor(map: PerfMap, lines: Uint32Array) {
    this.offsets = new Uint32Array(lines.length + 1);
    let size = 0;
    for (let symbol = 0; symbol < lines.length; symbol++) {
      const line = lines[symbol]!;
      size += map.nameEnd[line]! - map.nameStart[line]!;
      this.offsets[symbol + 1] = size;
    }
    this.bytes = new Uint8Array(size);
    for (let symbol = 0; symbol < lines.length; symbol++) {
      let from = map.nameStart[lines[symbol]!]!;
      for (let to = this.offsets[symbol]!, end = this.offsets[symbol + 1]!; to < end; )
        this.bytes[to++] = map.bytes[from++]!;
    }
  }

  rawName(symbol: number): string {
    return decoder.decode(this.bytes.subarray(this.offsets[symbol]!, this.offsets[symbol + 1]!));
  }

  name(symbol: number): string {
    return this.rawName(symbol);
  }
}
