import { DwarfCursor } from '../elf/index.ts';
import { ruleAt, type UnwindRule } from './call-frame-program.ts';
import * as cfi from './cfi-facts.ts';
import { FrameEntries, type FrameEntry, type FrameSection, readPointer } from './frame-entries.ts';

/** Finds the rule of an instruction in one section of frame information. */
export interface FrameTable {
  /** By virtual address. Null where the section says nothing of it. */
  ruleAt(address: number): UnwindRule | null;
}

/** The only form that linkers write: pairs of signed 32-bit distances from the header. */
const SEARCH_TABLE = cfi.DW_EH_PE_DATAREL | cfi.DW_EH_PE_SDATA4;
const HDR_VERSION = 1;

/**
 * A table over `.eh_frame` by the index that linkers make of it, so that nothing
 * is read but what is asked for:
 *
 *   .eh_frame_hdr  version | encodings | address of .eh_frame | count | (function, FDE) (function, FDE) ... by function
 *
 * Null where the header is damaged or has no index.
 */
export function indexedFrameTable(
  section: FrameSection,
  header: { bytes: Uint8Array<ArrayBuffer>; address: number },
): FrameTable | null {
  const { pointerBytes, littleEndian } = section;
  const cursor = new DwarfCursor(header.bytes, littleEndian);
  const [version, frameEncoding, countEncoding, tableEncoding] = [
    cursor.u8(),
    cursor.u8(),
    cursor.u8(),
    cursor.u8(),
  ];
  const base = { address: header.address, pointerBytes };
  readPointer(cursor, frameEncoding, base, header.address);
  const count = readPointer(cursor, countEncoding, base, header.address);
  if (version !== HDR_VERSION || tableEncoding !== SEARCH_TABLE || cursor.isDamaged) return null;
  const at = cursor.at;
  if (!(count > 0) || at + count * 8 > header.bytes.length) return null;
  const view = new DataView(header.bytes.buffer, header.bytes.byteOffset, header.bytes.byteLength);
  const entries = new FrameEntries(section);
  const startOf = (index: number) => header.address + view.getInt32(at + index * 8, littleEndian);
  return {
    ruleAt: (address) => {
      const index = lastAtMost(count, address, startOf);
      if (index < 0) return null;
      const frameAt = header.address + view.getInt32(at + index * 8 + 4, littleEndian);
      return ruleOf(section, entries.at(frameAt - section.address), address);
    },
  };
}

/** A table over a section without an index: all its entries are read once, and sorted. */
export function scannedFrameTable(section: FrameSection): FrameTable | null {
  const entries = new FrameEntries(section);
  const found: { start: number; offset: number }[] = [];
  // Start 0: code that the linker dropped.
  for (const { offset, entry } of entries.all())
    if (entry.start !== 0) found.push({ start: entry.start, offset });
  if (found.length === 0) return null;
  found.sort((a, b) => a.start - b.start);
  const starts = Float64Array.from(found, ({ start }) => start);
  const offsets = Float64Array.from(found, ({ offset }) => offset);
  return {
    ruleAt: (address) => {
      const index = lastAtMost(starts.length, address, (place) => starts[place]!);
      return index < 0 ? null : ruleOf(section, entries.at(offsets[index]!), address);
    },
  };
}

/** Linkers sort; a table that is not sorted is damaged, and finds what it finds. */
function lastAtMost(count: number, address: number, startOf: (index: number) => number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startOf(middle) <= address) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function ruleOf(section: FrameSection, entry: FrameEntry | null, address: number): UnwindRule | null {
  if (entry === null || address < entry.start || address >= entry.end) return null;
  return ruleAt(section, entry, address);
}
