import { DwarfCursor } from '../dwarf/dwarf-cursor.ts';
import { type LineHeader, readLineHeader } from '../dwarf/line-header.ts';
import { runLineProgram } from '../dwarf/line-program.ts';
import { SourceFiles } from '../dwarf/source-files.ts';
import type { Unit } from './unit-facts.ts';
import { type LineRow, WantedRows } from './wanted-rows.ts';

/** A place in the source. */
export interface SourcePlace {
  /** Path; empty: not known. */
  readonly file: string;
  /** From 1; 0: not known. */
  readonly line: number;
  readonly column: number;
}

/** The lines of one unit at some addresses, and its files. */
export class UnitLines {
  readonly #rows: readonly (LineRow | null)[];
  readonly #files: SourceFiles;
  readonly #fileOf: (file: number) => number;
  readonly #paths = new Map<number, string>();
  /** Before version 5 files count from 1. */
  readonly #firstFile: number;

  private constructor(
    rows: readonly (LineRow | null)[],
    files: SourceFiles,
    fileOf: (file: number) => number,
    firstFile: number,
  ) {
    this.#rows = rows;
    this.#files = files;
    this.#fileOf = fileOf;
    this.#firstFile = firstFile;
  }

  /** `addresses` ascend. Null where the unit has no lines, or damaged ones, which are counted. */
  static read({ home, lines, folder }: Unit, addresses: Float64Array): UnitLines | null {
    if (home.line === null || !(lines >= 0) || lines >= home.line.length || home.budget.isSpent) return null;
    const cursor = new DwarfCursor(home.line, home.littleEndian, lines);
    const header: LineHeader | null = readLineHeader(cursor, home);
    if (header === null) {
      home.elf.damage.add('dwarf-line-header', lines);
      return null;
    }
    home.budget.spend(header.end - header.offset);
    const wanted = new WantedRows(addresses);
    if (!runLineProgram(cursor, header, wanted, (file) => file))
      home.elf.damage.add('dwarf-line-program', lines);
    if (wanted.damaged > 0) home.elf.damage.add('dwarf-line-order', lines);
    const files = new SourceFiles();
    return new UnitLines(wanted.rows, files, files.ofUnit(header, folder), header.version < 5 ? 1 : 0);
  }

  /** At the address with that place among those asked for; null where no line has it. */
  at(place: number): SourcePlace | null {
    const row = this.#rows[place] ?? null;
    return row === null ? null : { file: this.#path(row.file), line: row.line, column: row.column };
  }

  /** The path of a file by its number in the unit; empty where it has none. */
  filePath(file: number): string {
    return file < this.#firstFile ? '' : this.#path(file);
  }

  #path(file: number): string {
    let path = this.#paths.get(file);
    if (path === undefined) this.#paths.set(file, (path = this.#files.path(this.#fileOf(file))));
    return path;
  }
}
