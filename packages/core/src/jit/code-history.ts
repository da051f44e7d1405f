import type { PerfMap } from './perf-map.ts';

/** From when on how many lines of a perf map count. */
export interface LineTime {
  timeNs: number;
  lines: number;
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
const ENTRIES_PER_LINE = 16;
const LEAST_ENTRIES = 1 << 16;

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
  /** By page: the lines on it, as they were written, where some of them overlap. */
  readonly #pages: ReadonlyMap<number, readonly number[]>;

  /** Use `codeHistory`. */
  constructor(
    map: PerfMap,
    pages: ReadonlyMap<number, readonly number[]>,
    fromNs: readonly number[],
    limits: readonly number[],
  ) {
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
    const lines = this.#pages.get(Math.floor(address / PAGE_BYTES));
    if (lines === undefined) return -1;
    // Lines below `written` are there, and lines from `limit` on are not.
    const written = version === 0 ? 0 : this.#limits[version - 1]!;
    const limit = this.#limits[version] ?? this.map.count;
    const { start, end } = this.map;
    let found = -1;
    for (let at = lines.length - 1; at >= 0; at--) {
      const line = lines[at]!;
      if (address < start[line]! || address >= end[line]!) continue;
      if (line >= limit) {
        // Before it was written nobody can have run it.
        found = UNKNOWN_LINE;
        continue;
      }
      if (found >= 0 && !this.#isSameCode(found, line)) return UNKNOWN_LINE;
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
  times: readonly LineTime[],
): CodeHistory | null {
  const replaced = overlapping(map, order);
  const pages = new Map<number, number[]>();
  let entries = 0;
  const mostEntries = LEAST_ENTRIES + ENTRIES_PER_LINE * map.count;
  const fromNs: number[] = [];
  const limits: number[] = [];
  const version = ({ timeNs, lines }: LineTime) => {
    const isKnown = limits.length > 0 && (limits.at(-1)! > lines || fromNs.at(-1)! > timeNs);
    if (isKnown || (limits.at(-1) === lines && fromNs.at(-1) === timeNs)) return;
    fromNs.push(timeNs);
    limits.push(lines);
  };
  let time = 0;
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
    // The last time at which the line was not there, and the first one at which it was.
    while (time + 1 < times.length && times[time + 1]!.lines <= line) time++;
    const before = times[time];
    if (before === undefined) continue;
    // What was there at the first look was there before it, nobody knows since when.
    if (fromNs.length === 0) version(times[0]!);
    if (before.lines > line) continue;
    version(before);
    const after = times[time + 1];
    if (after !== undefined) version(after);
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
