import { decodeUtf8 } from '../../base/index.ts';
import { NAME_NOT_CERTAIN, type PerfMap } from '../jit/index.ts';
import { CodeSymbols, type NameSource } from './code-symbols.ts';
import type { Pieces } from './pieces.ts';
import { orderByAddress } from './sort-addresses.ts';

/**
 * The table of a perf map. Memory of dead code is used again, and the map has no times: of lines that
 * overlap, the last one written has the bytes, as it replaced what was there.
 *
 *     lines    1 [ old                )
 *              2      [ new   )
 *     pieces     [ 1 )[ 2     )[ 1    )
 */
export function perfMapSymbols(map: PerfMap): CodeSymbols {
  const order = withoutUncertain(map, orderByAddress(map.start.subarray(0, map.count)));
  const pieces = latestPieces(map, order);

  // Lines whose bytes all belong to later ones are forgotten, and with them their names.
  const symbolOfLine = new Int32Array(map.count).fill(-1);
  for (let piece = 0; piece < pieces.symbol.length; piece++) symbolOfLine[pieces.symbol[piece]!] = 0;
  // In the place of the order, which is read further on than this is written.
  const alive = order;
  let count = 0;
  for (let at = 0; at < order.length; at++) {
    const line = order[at]!;
    if (symbolOfLine[line] === -1) continue;
    symbolOfLine[line] = count;
    alive[count++] = line;
  }
  for (let piece = 0; piece < pieces.symbol.length; piece++)
    pieces.symbol[piece] = symbolOfLine[pieces.symbol[piece]!]!;
  const names = new LineNames(map, alive.subarray(0, count));
  if (areWhole(map, alive, pieces, count)) return new CodeSymbols(pieces.start, pieces.end, pieces, names);
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  for (let symbol = 0; symbol < count; symbol++) {
    starts[symbol] = map.start[alive[symbol]!]!;
    ends[symbol] = map.end[alive[symbol]!]!;
  }
  return new CodeSymbols(starts, ends, pieces, names);
}

const UNCERTAIN = new TextEncoder().encode(NAME_NOT_CERTAIN);

/** A name that is not certain at some times is what is known where there are no times. */
function withoutUncertain(map: PerfMap, order: Uint32Array): Uint32Array {
  if (!order.some((line) => isUncertain(map, line))) return order;
  const named = new Set<number>();
  for (const line of order) if (!isUncertain(map, line)) named.add(map.start[line]!);
  return order.filter((line) => !named.has(map.start[line]!) || !isUncertain(map, line));
}

function isUncertain({ names, nameStart }: PerfMap, line: number): boolean {
  const from = nameStart[line]!;
  if (nameStart[line + 1]! - from !== UNCERTAIN.length) return false;
  for (let at = 0; at < UNCERTAIN.length; at++) if (names[from + at] !== UNCERTAIN[at]) return false;
  return true;
}

/** Whether nothing overlaps, so that the pieces are the lines. */
function areWhole(map: PerfMap, alive: Uint32Array, pieces: Pieces, count: number): boolean {
  if (pieces.symbol.length !== count) return false;
  for (let piece = 0; piece < count; piece++) {
    const line = alive[piece]!;
    if (pieces.symbol[piece] !== piece) return false;
    if (pieces.start[piece] !== map.start[line] || pieces.end[piece] !== map.end[line]) return false;
  }
  return true;
}

/** Pieces of the lines, in ascending order, by line; the highest line number wins. */
function latestPieces(map: PerfMap, order: Uint32Array): Pieces {
  // One for each line as a rule; two at most, where each lies within another.
  let pieces = newPieces(map.count + 1);
  let count = 0;
  const open = new LatestFirst();
  let from = Number.NEGATIVE_INFINITY;
  for (let at = 0; at <= order.length; at++) {
    const to = at < order.length ? map.start[order[at]!]! : Number.POSITIVE_INFINITY;
    while (open.size > 0 && from < to) {
      const line = open.latest;
      const end = Math.min(map.end[line]!, to);
      if (end > from) {
        if (count === pieces.start.length)
          pieces = grown(pieces, Math.min(count + (count >> 2) + 16, 2 * map.count));
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

function newPieces(capacity: number): Pieces {
  return {
    start: new Float64Array(capacity),
    end: new Float64Array(capacity),
    symbol: new Uint32Array(capacity),
  };
}

function grown(pieces: Pieces, capacity: number): Pieces {
  const bigger = newPieces(capacity);
  bigger.start.set(pieces.start);
  bigger.end.set(pieces.end);
  bigger.symbol.set(pieces.symbol);
  return bigger;
}

/** A heap of line numbers, the highest on top. */
class LatestFirst {
  size = 0;
  /** Few lines begin before another ends. */
  #heap = new Uint32Array(1024);

  get latest(): number {
    return this.#heap[0]!;
  }

  add(line: number): void {
    if (this.size === this.#heap.length) {
      const heap = new Uint32Array(2 * this.size);
      heap.set(this.#heap);
      this.#heap = heap;
    }
    const heap = this.#heap;
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
    const heap = this.#heap;
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

/** Names of lines, as written: perf does not demangle them. */
class LineNames implements NameSource {
  readonly #map: Pick<PerfMap, 'names' | 'nameStart'>;
  /** Of each symbol. */
  readonly #lines: Uint32Array;

  /**
   * Keeps all names of the map where at least half of its lines can still be asked
   * for, and else a copy of those.
   */
  constructor({ names, nameStart, count }: PerfMap, lines: Uint32Array) {
    const isKept = lines.length > count / 2;
    this.#map = isKept ? { names, nameStart } : namesOf({ names, nameStart }, lines);
    this.#lines = isKept ? lines : lines.map((_, symbol) => symbol);
  }

  rawName(symbol: number): string {
    const { names, nameStart } = this.#map;
    const line = this.#lines[symbol]!;
    return decodeUtf8(names.subarray(nameStart[line]!, nameStart[line + 1]!));
  }

  name(symbol: number): string {
    return this.rawName(symbol);
  }
}

function namesOf(
  { names, nameStart }: Pick<PerfMap, 'names' | 'nameStart'>,
  lines: Uint32Array,
): Pick<PerfMap, 'names' | 'nameStart'> {
  const starts = new Uint32Array(lines.length + 1);
  for (let row = 0; row < lines.length; row++)
    starts[row + 1] = starts[row]! + nameStart[lines[row]! + 1]! - nameStart[lines[row]!]!;
  const kept = new Uint8Array(starts[lines.length]!);
  for (let row = 0; row < lines.length; row++) {
    let from = nameStart[lines[row]!]!;
    for (let to = starts[row]!; to < starts[row + 1]!; ) kept[to++] = names[from++]!;
  }
  return { names: kept, nameStart: starts };
}
