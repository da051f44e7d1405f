import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** Memory of a process, from its first address to behind its last. */
export interface MemoryRange {
  start: number;
  end: number;
}

const PAGE_BYTES = 4096;
/** Smaller ranges are read whole; of larger ones V8 uses little. */
const LARGE_RANGE_BYTES = 1 << 20;
const ENTRY_BYTES = 8;
/** Of the highest byte of an entry of `pagemap` (Documentation/admin-guide/mm/pagemap.rst). */
const PRESENT = 0x80;
const SWAPPED = 0x40;
const MOST_RANGE_BYTES = 2 ** 32;
/** Of all ranges: V8 takes some hundred megabytes for each isolate. */
const MOST_RESERVED_BYTES = 2 ** 34;
const MOST_USED_BYTES = 2 ** 30;
const CODE = /^([0-9a-f]+)-([0-9a-f]+) r.x. [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ 0\s*$/gm;
const DATA = /^([0-9a-f]+)-([0-9a-f]+) rw.p [0-9a-f]+ 00:00 0\s*$/gm;

/** Memory of a process that has code and no file, as far as it is used; empty where it is gone. */
export function usedCodeRanges(pid: number): MemoryRange[] {
  return usedRanges(pid, CODE);
}

/** The same of memory for data: V8's heap, and what else a program takes without naming it. */
export function usedDataRanges(pid: number): MemoryRange[] {
  return usedRanges(pid, DATA);
}

function usedRanges(pid: number, mapping: RegExp): MemoryRange[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/maps`, 'latin1');
  } catch {
    return [];
  }
  const ranges: MemoryRange[] = [];
  let reservedBytes = 0;
  for (const [, start, end] of text.matchAll(mapping)) {
    const range = { start: Number.parseInt(start!, 16), end: Number.parseInt(end!, 16) };
    reservedBytes += range.end - range.start;
    if (reservedBytes > MOST_RESERVED_BYTES) break;
    if (range.end - range.start < LARGE_RANGE_BYTES) ranges.push(range);
    else ranges.push(...presentParts(pid, range));
  }
  return firstOf(ranges, MOST_USED_BYTES);
}

function firstOf(ranges: readonly MemoryRange[], mostBytes: number): MemoryRange[] {
  let left = mostBytes;
  return ranges.filter(({ start, end }) => (left -= end - start) >= 0);
}

/** Reading memory that was never used would make the kernel map a page of zeros there. */
function presentParts(pid: number, range: MemoryRange): MemoryRange[] {
  if (range.end - range.start > MOST_RANGE_BYTES) return [];
  const entries = new Uint8Array(((range.end - range.start) / PAGE_BYTES) * ENTRY_BYTES);
  let used = 0;
  try {
    const fd = openSync(`/proc/${pid}/pagemap`, 'r');
    try {
      used = readSync(fd, entries, 0, entries.length, (range.start / PAGE_BYTES) * ENTRY_BYTES);
    } finally {
      closeSync(fd);
    }
  } catch {
    return [];
  }
  const parts: MemoryRange[] = [];
  for (let at = 0; at + ENTRY_BYTES <= used; at += ENTRY_BYTES) {
    if ((entries[at + ENTRY_BYTES - 1]! & (PRESENT | SWAPPED)) === 0) continue;
    const start = range.start + (at / ENTRY_BYTES) * PAGE_BYTES;
    const last = parts.at(-1);
    if (last?.end === start) last.end += PAGE_BYTES;
    else parts.push({ start, end: start + PAGE_BYTES });
  }
  return parts;
}
