import { readDebugSection } from '../dwarf/debug-section.ts';
import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import type { ElfFile } from '../elf-file.ts';
import { type DebugSections, ReadBudget, readDebugSections } from './debug-sections.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Numbers of sections in the index (DWARF 5, section 7.3.5.3; the GNU format before has the same for these).
 */
const SECTION_INFO = 1;
const SECTION_ABBREVIATIONS = 3;
const SECTION_STRING_OFFSETS = 6;
/** Of version 5; before, macros had this number, and ranges were in the binary. */
const SECTION_RANGE_LISTS = 8;

/** Offset and size in each section that a unit has a part of. */
type Parts = ReadonlyMap<number, { readonly offset: number; readonly size: number }>;

/**
 * A file that `dwp` made of many `.dwo` files: the sections of all, and an index
 * that says whose part is where.
 */
export class SplitPackage {
  readonly #whole: DebugSections;
  readonly #parts: ReadonlyMap<string, Parts>;
  readonly #isVersion5: boolean;

  private constructor(whole: DebugSections, parts: ReadonlyMap<string, Parts>, isVersion5: boolean) {
    this.#whole = whole;
    this.#parts = parts;
    this.#isVersion5 = isVersion5;
  }

  /** Null where the file is none, or its index is damaged. */
  static async read(elf: ElfFile): Promise<SplitPackage | null> {
    const whole = await readDebugSections(elf, '.dwo');
    const index = await readDebugSection(elf, '.debug_cu_index');
    if (whole === null || index === null) return null;
    const isVersion5 = new DwarfCursor(index, elf.littleEndian).u16() === 5;
    const parts = readIndex(index, elf.littleEndian);
    return parts === null ? null : new SplitPackage(whole, parts, isVersion5);
  }

  /** What a `.dwo` file of that id would have; null where the package has none. */
  sectionsOf(splitId: string): DebugSections | null {
    const parts = this.#parts.get(splitId);
    if (parts === undefined) return null;
    const whole = this.#whole;
    const cut = (bytes: Bytes | null, section: number): Bytes | null => {
      const part = parts.get(section);
      if (bytes === null || part === undefined) return null;
      return bytes.subarray(part.offset, part.offset + part.size);
    };
    const info = cut(whole.info, SECTION_INFO);
    const abbreviations = cut(whole.abbreviations, SECTION_ABBREVIATIONS);
    if (info === null || abbreviations === null) return null;
    const rangeLists = this.#isVersion5 ? cut(whole.rangeLists, SECTION_RANGE_LISTS) : null;
    return {
      ...whole,
      info,
      abbreviations,
      rangeLists,
      stringOffsets: cut(whole.stringOffsets, SECTION_STRING_OFFSETS),
      budget: new ReadBudget(rangeLists),
    };
  }
}

/**
 * Version, columns, units and slots; a hash table of ids and one of rows; the columns' section
 * numbers; for each unit a row of offsets; then one of sizes. Version 2 is the GNU format, and
 * takes four bytes for the version.
 */
function readIndex(bytes: Bytes, littleEndian: boolean): Map<string, Parts> | null {
  const cursor = new DwarfCursor(bytes, littleEndian);
  const version = cursor.u16();
  cursor.skip(2);
  const columns = cursor.u32();
  const units = cursor.u32();
  const slots = cursor.u32();
  const bytesNeeded = 16 + slots * 12 + columns * 4 + units * columns * 8;
  if ((version !== 5 && version !== 2) || columns > 16 || bytesNeeded > bytes.length) return null;
  const idsAt = 16;
  const rowsAt = idsAt + slots * 8;
  const sectionsAt = rowsAt + slots * 4;
  const offsetsAt = sectionsAt + columns * 4;
  const sizesAt = offsetsAt + units * columns * 4;
  const numberAt = (at: number): number => {
    cursor.at = at;
    return cursor.u32();
  };
  const found = new Map<string, Parts>();
  for (let slot = 0; slot < slots; slot++) {
    const row = numberAt(rowsAt + slot * 4);
    if (row === 0 || row > units) continue;
    const first = numberAt(idsAt + slot * 8);
    const second = numberAt(idsAt + slot * 8 + 4);
    const id = (littleEndian ? [second, first] : [first, second])
      .map((half) => half.toString(16).padStart(8, '0'))
      .join('');
    const parts = new Map<number, { offset: number; size: number }>();
    for (let column = 0; column < columns; column++) {
      const at = ((row - 1) * columns + column) * 4;
      const section = numberAt(sectionsAt + column * 4);
      parts.set(section, { offset: numberAt(offsetsAt + at), size: numberAt(sizesAt + at) });
    }
    found.set(id, parts);
  }
  return found;
}
