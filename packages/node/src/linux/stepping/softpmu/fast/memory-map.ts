import { readFileSync } from 'node:fs';
import { ZONE_BYTES } from '../../code-cache/index.ts';

export interface MappedRange {
  start: number;
  end: number;
  /** It is executed as it is now: nobody may write it, and no other process sees it change. */
  isFixedCode: boolean;
  name: string;
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \S+ *(.*)$/gm;
const USER_END = 2 ** 47;

/** What /proc/PID/maps says. */
export function readMemoryMap(tid: number): MappedRange[] {
  let text = '';
  try {
    text = readFileSync(`/proc/${tid}/maps`, 'utf8');
  } catch {
    // It is gone.
  }
  return parseMemoryMap(text);
}

export function parseMemoryMap(text: string): MappedRange[] {
  return [...text.matchAll(LINE)].map(([, start, end, rights, name]) => ({
    start: Number.parseInt(start!, 16),
    end: Number.parseInt(end!, 16),
    isFixedCode: rights === 'r-xp',
    name: name!,
  }));
}

const MB = 2 ** 20;
/**
 * Far enough that heap, stack and new mappings keep their places, near enough for 32-bit
 * distances: the farthest first.
 */
const FARTHEST_MB = 1216;
const NEAREST_MB = 64;
const MARGIN = MB;

/** Of a log of blocks: code of all zones names it by 31 bits. */
const HIGHEST_LOG_MB = 1984;
const LOWEST_LOG_MB = 64;

/** A free place below 2 GiB; `null` when there is none. */
export function findLowPlace(ranges: readonly MappedRange[], bytes: number): number | null {
  for (let at = HIGHEST_LOG_MB; at >= LOWEST_LOG_MB; at -= 4) {
    const start = at * MB;
    const end = start + bytes;
    if (ranges.every((range) => range.end <= start - MARGIN || range.start >= end + MARGIN)) return start;
  }
  return null;
}

/** A free place for a zone that `pc` can reach; `null` when there is none. */
export function findZonePlace(ranges: readonly MappedRange[], pc: number): number | null {
  const near = Math.floor(pc / (2 * MB)) * 2 * MB;
  for (const sign of [-1, 1])
    for (let distance = FARTHEST_MB; distance >= NEAREST_MB; distance -= ZONE_BYTES / MB + 2) {
      const start = near + sign * distance * MB;
      const end = start + ZONE_BYTES;
      if (start - MARGIN < 0 || end + MARGIN >= USER_END) continue;
      if (ranges.every((range) => range.end <= start - MARGIN || range.start >= end + MARGIN)) return start;
    }
  return null;
}
