import type { PerfMap } from './perf-map.ts';

/** From when on how many lines of a perf map count, as columns. */
export interface LineTimes {
  /** Ascending. */
  timeNs: Float64Array;
  /** Ascending. */
  lines: Uint32Array;
}

/** What reports call code of which nobody can say whose it was at the time of a sample. */
export const NAME_NOT_CERTAIN = '[JavaScript, name not certain]';

/** Code was there, and it may have been that of several lines, or of one that nobody saw. */
export const UNKNOWN_LINE = -2;

/** V8's pieces of code are smaller; a line that says more is damaged. */
const MOST_CODE_BYTES = 1 << 26;
const PAGE_BYTES = 4096;
/**
 * Lists of pages have this many entries for each line. A map that needs more is
 * not one that a compiler wrote.
 */
const ENTRIES_PER_LINE = 4;
const LEAST_ENTRIES = 1 << 16;
/** Of a page, for one question: where memory was reused more often, nobody can say whose it was. */
const MOST_LINES_SEEN = 4096;
/** Of names, for one question: longer names are not compared. */
const MOST_NAME_BYTES_SEEN = 1 << 16;

/**
 * Memory of dead code is used again. Which function was at an address at a time, where a map has several:
 *
 *     lines                1 [ old      )
 *                          2       [ new     )
 *     t < before           old   old
 *     before <= t < after  old   unknown     `versionAt(t)` goes up where someone looked
 *     t >= after           old   new
 *
 * A line is known to have been written between two times at which someone looked: `before` and
 * `after`. Between them it may be the old code that runs, or the new one. Where nothing else
 * was there, it is the new one.
 */
export class CodeHistory {
  readonly map: PerfMap;
  /** Ascending, by the clock of `codeHistory`'s times. A version holds until the next one. */
  readonly #fromNs: readonly number[];
  /** By version: lines from this one on are not there. */
  readonly #limits: readonly number[];
  readonly #pages: PageLines;

  /** Use `codeHistory`. */
  constructor(map: PerfMap, pages: PageLines, fromNs: readonly number[], limits: readonly number[]) {
    this.map = map;
    this.#pages = pages;
    this.#fromNs = fromNs;
    this.#limits = limits;
  }

  /** How often code was replaced until a time; the answers for earlier times are smaller. */
  versionAt(timeNs: number): number {
    let low = 0;
    let high = this.#fromNs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#fromNs[middle]! <= timeNs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** When a version ends; infinite: it is the last one. */
  endOf(version: number): number {
    return this.#fromNs[version] ?? Number.POSITIVE_INFINITY;
  }

  /**
   * The line whose code was at an address; -1: at all times it was that of the map's last line there, or
   * none; UNKNOWN_LINE: nobody can say.
   */
  lineAt(address: number, version: number): number {
    const lines = this.#pages.linesOf(Math.floor(address / PAGE_BYTES));
    // Lines below `written` are there, and lines from `limit` on are not.
    const written = version === 0 ? 0 : this.#limits[version - 1]!;
    const limit = this.#limits[version] ?? this.map.count;
    const { start, end } = this.map;
    let found = -1;
    let nameBytes = 0;
    const last = lines.length - MOST_LINES_SEEN;
    for (let at = lines.length - 1; at >= 0; at--) {
      if (at < last) return UNKNOWN_LINE;
      const line = lines[at]!;
      if (address < start[line]! || address >= end[line]!) continue;
      if (line >= limit) {
        // Before it was written nobody can have run it.
        found = UNKNOWN_LINE;
        continue;
      }
      if (found >= 0) {
        nameBytes += this.map.nameStart[line + 1]! - this.map.nameStart[line]!;
        if (nameBytes > MOST_NAME_BYTES_SEEN || !this.#isSameCode(found, line)) return UNKNOWN_LINE;
      }
      found = Math.max(found, line);
      if (line < written) break;
    }
    return found;
  }

  /** A line may be written twice. */
  #isSameCode(a: number, b: number): boolean {
    const { start, end, names, nameStart } = this.map;
    const size = nameStart[a + 1]! - nameStart[a]!;
    if (start[a] !== start[b] || end[a] !== end[b] || size !== nameStart[b + 1]! - nameStart[b]!)
      return false;
    for (let at = 0; at < size; at++)
      if (names[nameStart[a]! + at] !== names[nameStart[b]! + at]) return false;
    return true;
  }
}

/**
 * `times`: ascending. `order`: of the lines by address. Null where no memory was used twice, or the map is
 * not what a compiler writes: its last line at an address holds for all times.
 */
export function codeHistory(
  map: PerfMap,
  order: Uint32Array,
  { timeNs, lines }: LineTimes,
): CodeHistory | null {
  const replaced = overlapping(map, order);
  const pages = pageLines(map, replaced);
  if (pages === null) return null;
  const fromNs: number[] = [];
  const limits: number[] = [];
  const version = (row: number) => {
    const [time, limit] = [timeNs[row]!, lines[row]!];
    const isKnown = limits.length > 0 && (limits.at(-1)! > limit || fromNs.at(-1)! > time);
    if (isKnown || (limits.at(-1) === limit && fromNs.at(-1) === time)) return;
    fromNs.push(time);
    limits.push(limit);
  };
  let row = 0;
  for (let line = 0; line < map.count && timeNs.length > 0; line++) {
    if (replaced[line] === 0) continue;
    // The last time at which the line was not there, and the first one at which it was.
    while (row + 1 < timeNs.length && lines[row + 1]! <= line) row++;
    // What was there at the first look was there before it, nobody knows since when.
    if (fromNs.length === 0) version(0);
    if (lines[row]! > line) continue;
    version(row);
    if (row + 1 < timeNs.length) version(row + 1);
  }
  return fromNs.length === 0 ? null : new CodeHistory(map, pages, fromNs, limits);
}

/** By line: 1 where another one has bytes of it. */
function overlapping({ start, end, count }: PerfMap, order: Uint32Array): Uint8Array {
  const marks = new Uint8Array(count);
  let reach = Number.NEGATIVE_INFINITY;
  let furthest = -1;
  for (let at = 0; at < count; at++) {
    const line = order[at]!;
    if (end[line]! - start[line]! > MOST_CODE_BYTES) continue;
    if (start[line]! < reach) marks[line] = marks[furthest] = 1;
    if (end[line]! > reach) {
      reach = end[line]!;
      furthest = line;
    }
  }
  return marks;
}

/** By page: the lines on it, as they were written, where some of them overlap. */
class PageLines {
  /** Ascending. */
  readonly #pages: Float64Array;
  /** By page: where its lines begin in `#lines`, and where the last ones end. */
  readonly #first: Uint32Array;
  readonly #lines: Uint32Array;

  constructor(pages: Float64Array, first: Uint32Array, lines: Uint32Array) {
    this.#pages = pages;
    this.#first = first;
    this.#lines = lines;
  }

  /** Empty: none overlap there. */
  linesOf(page: number): Uint32Array {
    const row = rowOf(this.#pages, page);
    return this.#pages[row] === page
      ? this.#lines.subarray(this.#first[row]!, this.#first[row + 1]!)
      : this.#lines.subarray(0, 0);
  }
}

/** Null: more pages than the lines of a compiler are on. */
function pageLines({ start, end, count }: PerfMap, isReplaced: Uint8Array): PageLines | null {
  const firstPage = (line: number) => Math.floor(start[line]! / PAGE_BYTES);
  const lastPage = (line: number) => Math.floor((end[line]! - 1) / PAGE_BYTES);
  let entries = 0;
  for (let line = 0; line < count; line++)
    if (isReplaced[line] === 1) entries += lastPage(line) - firstPage(line) + 1;
  if (entries > LEAST_ENTRIES + ENTRIES_PER_LINE * count) return null;
  const sorted = new Float64Array(entries);
  let used = 0;
  for (let line = 0; line < count; line++)
    if (isReplaced[line] === 1)
      for (let page = firstPage(line); page <= lastPage(line); page++) sorted[used++] = page;
  sorted.sort();
  let rows = 0;
  for (let at = 0; at < used; at++)
    if (rows === 0 || sorted[at] !== sorted[rows - 1]) sorted[rows++] = sorted[at]!;
  const pages = sorted.slice(0, rows);
  const first = new Uint32Array(rows + 1);
  const lines = new Uint32Array(entries);
  for (let line = 0; line < count; line++)
    if (isReplaced[line] === 1)
      // Pages of a line are neighbours.
      for (let row = rowOf(pages, firstPage(line)); pages[row]! <= lastPage(line); row++) first[row + 1]!++;
  for (let row = 0; row < rows; row++) first[row + 1]! += first[row]!;
  const next = first.slice(0, rows);
  for (let line = 0; line < count; line++)
    if (isReplaced[line] === 1)
      for (let row = rowOf(pages, firstPage(line)); pages[row]! <= lastPage(line); row++)
        lines[next[row]!++] = line;
  return new PageLines(pages, first, lines);
}

/** The row of a page, or of the next one. */
function rowOf(pages: Float64Array, page: number): number {
  let low = 0;
  let high = pages.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pages[middle]! < page) low = middle + 1;
    else high = middle;
  }
  return low;
}
