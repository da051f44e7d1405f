import {
  type ElfFile,
  type ElfSymbols,
  EM_AARCH64,
  EM_ARM,
  EM_RISCV,
  type PltEntry,
  SHN_ABS,
  SHN_UNDEF,
  SHN_XINDEX,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
  STT_OBJECT,
  STV_HIDDEN,
  STV_INTERNAL,
} from '../elf/index.ts';
import { bestSymbols } from './best-symbols.ts';
import type { CodeSymbols } from './code-symbols.ts';
import { FileOffsets } from './file-offsets.ts';
import { PltSymbols } from './plt-symbols.ts';
import { SymbolRows } from './symbol-rows.ts';

/** The symbol table of one ELF file. */
export interface ElfTable {
  /** The file. */
  elf: ElfFile;
  /** Its functions, by address. */
  symbols: ElfSymbols;
}

/** Symbol tables of one binary and where its addresses are in the file. */
export interface ElfSymbolParts {
  /** Where names tie, the earlier table wins. */
  tables: ElfTable[];
  /** The stubs through which functions of other libraries are called. */
  plt: PltEntry[];
  /**
   * The file that is mapped (or its debug file): gives file offsets. A number: addresses as they
   * are, moved by it (vmlinux).
   */
  layout: ElfFile | number;
}

/**
 * The table of an ELF binary with the choice of symbols that perf makes: functions, objects, and
 * labels in sections of text and data; of the names at one address the best; a function without a
 * size reaches to the next one.
 */
export function elfCodeSymbols(parts: ElfSymbolParts, demangle: (name: string) => string): CodeSymbols {
  const tables = parts.tables.map(({ symbols }) => symbols);
  const stubs = new PltSymbols(parts.plt, tables);
  const rows = new SymbolRows([...tables, stubs]);
  const offsets = new FileOffsets(parts.layout);
  parts.tables.forEach((table, index) => {
    addTable(rows, table, index, offsets);
  });
  parts.plt.forEach((entry, row) => {
    const start = offsets.of(entry.address, SHN_UNDEF);
    if (!Number.isNaN(start)) rows.add(start, entry.size, stubs.info(), tables.length, row);
  });
  return bestSymbols(rows, demangle);
}

function addTable(rows: SymbolRows, { elf, symbols }: ElfTable, source: number, offsets: FileOffsets): void {
  const isArm = elf.machine === EM_ARM;
  const hasMappingSymbols = isArm || elf.machine === EM_AARCH64 || elf.machine === EM_RISCV;
  const hasLabels = elf.sections.map(({ name }) => name.includes('text') || name.includes('data'));
  for (let row = 0; row < symbols.count; row++) {
    const info = symbols.info(row);
    const type = info & 15;
    const section = symbols.section(row);
    const nameOffset = symbols.nameOffset(row);
    if (section === SHN_UNDEF || section === SHN_ABS || nameOffset === 0) continue;
    if (type === STT_NOTYPE) {
      const visibility = symbols.visibility(row);
      if (visibility === STV_HIDDEN || visibility === STV_INTERNAL || hasLabels[section] !== true) continue;
    } else if (type !== STT_FUNC && type !== STT_OBJECT && type !== STT_GNU_IFUNC) continue;
    if (hasMappingSymbols && isMappingSymbol(symbols.strings, nameOffset)) continue;

    let address = symbols.value(row);
    // Bit 0 of a Thumb function's address selects the instruction set.
    if (isArm && type === STT_FUNC) address -= address & 1;
    const start = offsets.of(address, section === SHN_XINDEX ? SHN_UNDEF : section);
    if (!Number.isNaN(start)) rows.add(start, symbols.size(row), info, source, row);
  }
}

/**
 * `$a`, `$d`, `$t`, `$x`, alone or with a suffix after a dot: where code and data
 * alternate (ARM and RISC-V ELF ABIs).
 */
function isMappingSymbol(strings: Uint8Array, offset: number): boolean {
  if (strings[offset] !== 0x24) return false;
  const letter = strings[offset + 1];
  const after = strings[offset + 2];
  const isMark = letter === 0x61 || letter === 0x64 || letter === 0x74 || letter === 0x78;
  return isMark && (after === 0 || after === 0x2e);
}
