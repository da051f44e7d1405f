import type { ElfFile } from '../elf-file.ts';
import { ElfNames } from '../strings.ts';
import { readDebugSection } from './debug-section.ts';
import { DwarfCursor } from './dwarf-cursor.ts';
import { type LineHeader, readLineHeader } from './line-header.ts';
import { runLineProgram } from './line-program.ts';
import { LineRows, ROW_ENDS_SEQUENCE, ROW_IS_STATEMENT } from './line-rows.ts';
import { SourceFiles } from './source-files.ts';
import { type DebugStrings, readUnitFolders } from './unit-folders.ts';

/** Folders and files of all units that are kept: Chromium's have some ten million. */
const MOST_NAMES = 1 << 24;

/** Linkers give code that they left out the address 0 or one of the last: -1, -2 as signed numbers. */
export const isLeftOut = (start: number): boolean => start === 0 || start === -1 || start === -2;

/**
 * Which source line each address belongs to: the line tables of all units, sequence by sequence in the order
 * of their addresses. A row is valid up to the address of the next; several rows may have one address (the
 * last of them has the instruction there). Addresses are those of the ELF file, signed.
 */
export class LineTable {
  readonly #rows: LineRows;
  readonly #files: SourceFiles;
  /** First and last row of each sequence, in the order of addresses. */
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;

  /**
   * Use `readLines`. `starts`: the first rows of the sequences that count.
   *
   * @internal
   */
  constructor(rows: LineRows, files: SourceFiles, starts: readonly number[]) {
    this.#rows = rows;
    this.#files = files;
    this.#starts = Int32Array.from(starts).sort((a, b) => rows.address[a]! - rows.address[b]! || a - b);
    this.#ends = this.#starts.map((row) => {
      let end = row;
      while (!this.isEnd(end)) end++;
      return end;
    });
  }

  /**
   * Stretches of code without a gap, each with rows of its own. Those that the
   * linker left out are not counted.
   */
  get sequenceCount(): number {
    return this.#starts.length;
  }

  /** Source files of all units; a row's file is an index. Paths are made when asked for. */
  get fileCount(): number {
    return this.#files.count;
  }

  /**
   * Path of a file by its number, joined with the folder it was compiled in; empty for file 0, which is none.
   */
  filePath(file: number): string {
    return this.#files.path(file);
  }

  /**
   * The first row of a sequence (in the order of addresses). The rows behind it are its
   * own up to one that `isEnd`.
   */
  sequenceStart(sequence: number): number {
    return this.#starts[sequence]!;
  }

  /** Address in the ELF file of the first instruction, as a signed float64. */
  address(row: number): number {
    return this.#rows.address[row]!;
  }

  /** Number of the source file: below `fileCount`; 0 if there is none. */
  file(row: number): number {
    return this.#rows.file[row]!;
  }

  /** From 1; 0 for code that belongs to no line. */
  line(row: number): number {
    return this.#rows.line[row]!;
  }

  /** From 1; 0: the line as a whole. */
  column(row: number): number {
    return this.#rows.column[row]!;
  }

  /** A statement begins here. */
  isStatement(row: number): boolean {
    return (this.#rows.flags[row]! & ROW_IS_STATEMENT) !== 0;
  }

  /** Behind the last instruction of a sequence. */
  isEnd(row: number): boolean {
    return (this.#rows.flags[row]! & ROW_ENDS_SEQUENCE) !== 0;
  }

  /**
   * The first of the rows with a row's address: at the beginning of a function that is the line of its name.
   */
  firstAt(row: number): number {
    let first = row;
    while (first > 0 && !this.isEnd(first - 1) && this.address(first - 1) === this.address(row)) first--;
    return first;
  }

  /** The row that has an address, or -1. Where sequences overlap, one of that which begins last. */
  lookup(address: number): number {
    const { address: addresses } = this.#rows;
    let low = 0;
    let high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (addresses[this.#starts[middle]!]! <= address) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return -1;
    const end = this.#ends[low - 1]!;
    let row = this.#starts[low - 1]!;
    let behind = end + 1;
    while (behind - row > 1) {
      const middle = (row + behind) >>> 1;
      if (addresses[middle]! <= address) row = middle;
      else behind = middle;
    }
    return row === end ? -1 : row;
  }
}

/**
 * The line tables of a file with debug information (`.debug_line` of DWARF 2 to 5, compressed or not), or
 * null where it has none. Units that are damaged are counted in `elf.damage` and left out from there on.
 */
export async function readLines(elf: ElfFile): Promise<LineTable | null> {
  const section = await readDebugSection(elf, '.debug_line');
  if (section === null) return null;
  const strings = await readStrings(elf);
  const cursor = new DwarfCursor(section, elf.littleEndian);
  const headers: LineHeader[] = [];
  let names = 0;
  while (cursor.at < section.length && names <= MOST_NAMES) {
    const { at } = cursor;
    const header = readLineHeader(cursor, strings);
    names += header === null ? 0 : header.folders.length + header.files.length;
    if (header === null || names > MOST_NAMES) elf.damage.add('dwarf-line-header', at);
    else headers.push(header);
  }
  const hasFolders = headers.every(({ version }) => version >= 5);
  const unitFolders = hasFolders ? new Map<number, string>() : await foldersOf(elf, strings);
  const rows = new LineRows();
  const files = new SourceFiles();
  for (const header of headers) {
    const fileOf = files.ofUnit(header, unitFolders.get(header.offset) ?? '');
    if (!runLineProgram(cursor, header, rows, fileOf)) elf.damage.add('dwarf-line-program', header.offset);
  }
  return new LineTable(rows, files, sequences(rows, elf));
}

async function readStrings(elf: ElfFile): Promise<DebugStrings> {
  const str = await readDebugSection(elf, '.debug_str');
  const lineStr = await readDebugSection(elf, '.debug_line_str');
  return {
    str: str === null ? null : new ElfNames(str),
    lineStr: lineStr === null ? null : new ElfNames(lineStr),
  };
}

async function foldersOf(elf: ElfFile, strings: DebugStrings): Promise<Map<number, string>> {
  const info = await readDebugSection(elf, '.debug_info');
  const abbreviations = await readDebugSection(elf, '.debug_abbrev');
  if (info === null || abbreviations === null) return new Map();
  return readUnitFolders(info, abbreviations, strings, elf.littleEndian);
}

/** First rows of sequences whose addresses ascend, and that the linker did not leave out. */
function sequences(rows: LineRows, elf: ElfFile): number[] {
  const starts: number[] = [];
  let isAscending = true;
  for (let row = 0, first = 0; row < rows.length; row++) {
    const start = rows.address[first]!;
    if (row > first && rows.address[row]! < rows.address[row - 1]!) isAscending = false;
    if ((rows.flags[row]! & ROW_ENDS_SEQUENCE) === 0) continue;
    if (!isAscending) elf.damage.add('dwarf-line-order', 0);
    else if (row > first && !isLeftOut(start)) starts.push(first);
    first = row + 1;
    isAscending = true;
  }
  return starts;
}
