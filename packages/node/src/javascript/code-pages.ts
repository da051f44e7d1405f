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
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) r.x. [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ 0\s*$/gm;

/** Memory of a process that has code and no file, as far as it is used; empty where it is gone. */
export function usedCodeRanges(pid: number): MemoryRange[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/maps`, 'latin1');
  } catch {
    return [];
  }
  const ranges: MemoryRange[] = [];
  for (const [, start, end] of text.matchAll(MAPPING)) {
    const range = { start: Number.parseInt(start!, 16), end: Number.parseInt(end!, 16) };
    if (range.end - range.start < LARGE_RANGE_BYTES) ranges.push(range);
    else ranges.push(...presentParts(pid, range));
  }
  return ranges;
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
