import { bestSymbols } from './best-symbols.ts';
import type { CodeSymbols } from './code-symbols.ts';
import { elfInfoOf, isCodeOrData, type Kallsyms, kallsymsName } from './kallsyms.ts';
import { SymbolRows, type SymbolSource } from './symbol-rows.ts';

/** Which symbols of kallsyms, and how far their addresses are moved to be those of the recording. */
export interface KernelPart {
  /** Index into `Kallsyms.modules`; 0 for the kernel itself; null for the kernel and all modules. */
  module: number | null;
  /**
   * Recorded address less the one in kallsyms: not 0 where the kernel was booted
   * again with another KASLR offset.
   */
  shift: number;
}

/** The table of the running kernel, of a module, or of both, by absolute address. */
export function kernelCodeSymbols(table: Kallsyms, { module, shift }: KernelPart): CodeSymbols {
  const rows = new SymbolRows([new KallsymsSource(table)]);
  // A symbol reaches to the next of its module; between modules, and between the kernel and them, are gaps.
  const regions = new Uint16Array(table.count);
  for (let row = 0; row < table.count; row++) {
    if (module !== null && table.module[row] !== module) continue;
    const type = table.type[row]!;
    if (!isCodeOrData(type) || isMappingSymbol(table, row)) continue;
    regions[rows.count] = table.module[row]!;
    rows.add(table.address[row]! + shift, 0, elfInfoOf(type), 0, row);
  }
  return bestSymbols(rows, (name) => name, regions);
}

class KallsymsSource implements SymbolSource {
  readonly count: number;
  readonly #table: Kallsyms;

  constructor(table: Kallsyms) {
    this.count = table.count;
    this.#table = table;
  }

  name(row: number): string {
    return kallsymsName(this.#table, row);
  }

  info(row: number): number {
    return elfInfoOf(this.#table.type[row]!);
  }

  size(): number {
    return 0;
  }
}

/** `$a`, `$d`, `$x`: where code and data alternate on ARM; no kernel function starts with a dollar sign. */
function isMappingSymbol(table: Kallsyms, row: number): boolean {
  return table.bytes[table.nameStart[row]!] === 0x24;
}
