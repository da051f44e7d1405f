import { readDebugSection } from '../dwarf/debug-section.ts';
import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import type { DebugStrings } from '../dwarf/unit-folders.ts';
import { type ElfFile, findSection } from '../elf-file.ts';
import { ElfNames } from '../strings.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** A section may be read so often in all: of damaged entries each could name the same long list. */
const MOST_READINGS = 16;
const FREE_BYTES = 1 << 20;

/** How many bytes of lists and line programs may still be read. */
export class ReadBudget {
  #leftBytes: number;

  constructor(...sections: (Bytes | null)[]) {
    this.#leftBytes = sections.reduce((sum, bytes) => sum + (bytes?.length ?? 0) * MOST_READINGS, FREE_BYTES);
  }

  get isSpent(): boolean {
    return this.#leftBytes <= 0;
  }

  spend(bytes: number): void {
    this.#leftBytes -= bytes;
  }
}

/** The debug sections of one file, decompressed; null where it has none of the name. */
export interface DebugSections extends DebugStrings {
  readonly info: Bytes;
  readonly abbreviations: Bytes;
  readonly line: Bytes | null;
  readonly addresses: Bytes | null;
  /** `.debug_aranges`. */
  readonly addressIndex: Bytes | null;
  readonly stringOffsets: Bytes | null;
  /** Of versions up to 4, and of version 5. */
  readonly ranges: Bytes | null;
  readonly rangeLists: Bytes | null;
  readonly budget: ReadBudget;
  /** Of the file that several binaries share (dwz); null if there is none, or it is not there. */
  readonly shared: DebugSections | null;
  readonly littleEndian: boolean;
  /** Counts what is damaged. */
  readonly elf: ElfFile;
}

/** Whether a file has entries of functions; a debug file has them in place of the binary. */
export function hasDebugInfo(elf: ElfFile): boolean {
  return findSection(elf, '.debug_info') !== null || findSection(elf, '.zdebug_info') !== null;
}

/**
 * The sections that functions and lines are read from. Null where the file has no entries. `suffix`: `.dwo`
 * for a file of split debug information, whose sections have other names. `shared`: those of the file that it
 * shares with others.
 */
export async function readDebugSections(
  elf: ElfFile,
  suffix: '' | '.dwo' = '',
  shared: DebugSections | null = null,
): Promise<DebugSections | null> {
  const read = (name: string) => readDebugSection(elf, `.debug_${name}${suffix}`);
  const info = await read('info');
  const abbreviations = await read('abbrev');
  if (info === null || abbreviations === null) return null;
  const names = (bytes: Bytes | null) => (bytes === null ? null : new ElfNames(bytes));
  const line = await read('line');
  const ranges = await read('ranges');
  const rangeLists = await read('rnglists');
  return {
    info,
    abbreviations,
    line,
    str: names(await read('str')),
    lineStr: names(await read('line_str')),
    addresses: await read('addr'),
    addressIndex: await read('aranges'),
    stringOffsets: await read('str_offsets'),
    ranges,
    rangeLists,
    budget: new ReadBudget(line, ranges, rangeLists),
    shared,
    littleEndian: elf.littleEndian,
    elf,
  };
}

/** A number of `size` bytes at an offset of a section, unsigned; NaN where the section does not reach. */
export function numberAt(bytes: Bytes | null, offset: number, size: number, littleEndian: boolean): number {
  if (bytes === null || !(offset >= 0) || offset + size > bytes.length) return Number.NaN;
  const cursor = new DwarfCursor(bytes, littleEndian, offset);
  return size === 8 ? cursor.i64() : size === 4 ? cursor.u32() : size === 2 ? cursor.u16() : cursor.u8();
}
