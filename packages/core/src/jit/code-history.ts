import type { PerfMap } from './perf-map.ts';

/** From when on how many lines of a perf map count. */
export interface LineTime {
  timeNs: number;
  lines: number;
}

/** V8's pieces of code are smaller; a line that says more is damaged. */
const MOST_CODE_BYTES = 1 << 26;
const PAGE_BYTES = 4096;
/**
 * Lists of pages have so many entries for each line. A map that needs more is not one that a compiler wrote.
 */
const ENTRIES_PER_LINE = 16;
const LEAST_ENTRIES = 1 << 16;

/**
 * Memory of dead code is used again. Which function was at an address at a time, where a map has several:
 *
 *     lines       1 [ old      )
 *                 2       [ new     )
 *     t < 2       old   old
 *     t >= 2      old   new         `versionAt(t)` goes up where a line replaces another
 *
 * A line is known to have been written between two times at which someone looked, and counts from the
 * first of them: dead code does not run, new code does.
 */
export class CodeHistory {
  readonly map: PerfMap;
  /** Ascending, by the clock of `codeHistory`'s times. A version holds until the next one. */
  readonly #fromNs: readonly number[];
  readonly #lines: readonly number[];
  /** By page: the lines on it, as they were written, where some of them overlap. */
  readonly #pages: ReadonlyMap<number, readonly number[]>;

  /** Use `codeHistory`. */
  constructor(
    map: PerfMap,
    pages: ReadonlyMap<number, readonly number[]>,
    fromNs: readonly number[],
    lines: readonly number[],
  ) {
    this.map = map;
    this.#pages = pages;
    this.#fromNs = fromNs;
    this.#lines = lines;
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
   * The line whose code was at an address; -1: at all times it was that of the map's
   * last line there, or none.
   */
  lineAt(address: number, version: number): number {
    const lines = this.#pages.get(Math.floor(address / PAGE_BYTES));
    if (lines === undefined) return -1;
    const limit = this.#lines[version] ?? this.map.count;
    const { start, end } = this.map;
    let first = -1;
    for (let at = lines.length - 1; at >= 0; at--) {
      const line = lines[at]!;
      if (address < start[line]! || address >= end[line]!) continue;
      if (line < limit) return line;
      first = line;
    }
    // Nothing was known there yet.
    return first;
  }
}

/**
 * `times`: ascending. `order`: of the lines by address. Null where no memory was used twice, or the map is
 * not what a compiler writes: its last line at an address holds for all times.
 */
export function codeHistory(
  map: PerfMap,
  order: Uint32Array,
  times: readonly LineTime[],
): CodeHistory | null {
  const replaced = overlapping(map, order);
  const pages = new Map<number, number[]>();
  let entries = 0;
  const mostEntries = LEAST_ENTRIES + ENTRIES_PER_LINE * map.count;
  const fromNs: number[] = [];
  const limits: number[] = [];
  let time = 0;
  let isFirst = true;
  for (let line = 0; line < map.count; line++) {
    if (replaced[line] === 0) continue;
    const [start, end] = [map.start[line]!, map.end[line]!];
    const last = Math.floor((end - 1) / PAGE_BYTES);
    for (let page = Math.floor(start / PAGE_BYTES); page <= last; page++) {
      if (++entries > mostEntries) return null;
      const lines = pages.get(page);
      if (lines === undefined) pages.set(page, [line]);
      else lines.push(line);
    }
    // The first time at which the line was not there; from then on it may be.
    while (time + 1 < times.length && times[time + 1]!.lines <= line) time++;
    const since = times[time];
    if (since === undefined || since.lines > line) continue;
    if (isFirst || fromNs.at(-1) !== since.timeNs) {
      fromNs.push(since.timeNs);
      limits.push(since.lines);
      isFirst = false;
    }
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
