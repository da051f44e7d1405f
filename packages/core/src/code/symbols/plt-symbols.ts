import { type ElfSymbols, type PltEntry, STB_GLOBAL, STT_FUNC, STT_GNU_IFUNC } from '../elf/index.ts';
import type { SymbolSource } from './symbol-rows.ts';

/** The stubs of a binary as symbols: `name@plt`. Rows are those of the entries. */
export class PltSymbols implements SymbolSource {
  readonly count: number;
  readonly #entries: PltEntry[];
  readonly #resolvers: Map<number, string>;

  constructor(entries: PltEntry[], tables: ElfSymbols[]) {
    this.count = entries.length;
    this.#entries = entries;
    this.#resolvers = resolverNames(entries, tables);
  }

  name(row: number): string {
    const { name, resolver } = this.#entries[row]!;
    // An indirect function without a name is written as objdump does.
    return `${name || this.#resolvers.get(resolver) || `*ABS*+0x${resolver.toString(16)}`}@plt`;
  }

  info(): number {
    return (STB_GLOBAL << 4) | STT_FUNC;
  }

  size(row: number): number {
    return this.#entries[row]!.size;
  }
}

/**
 * Names of the indirect functions that stubs lead to, by the address of their
 * resolver; a global name before others.
 */
function resolverNames(entries: PltEntry[], tables: ElfSymbols[]): Map<number, string> {
  const names = new Map<number, string>();
  const wanted = new Set(entries.map((entry) => entry.resolver));
  wanted.delete(0);
  if (wanted.size === 0) return names;
  const isGlobal = new Set<number>();
  for (const symbols of tables) {
    for (let row = 0; row < symbols.count; row++) {
      const info = symbols.info(row);
      if ((info & 15) !== STT_GNU_IFUNC) continue;
      const address = symbols.value(row);
      if (!wanted.has(address) || isGlobal.has(address)) continue;
      if (info >> 4 === STB_GLOBAL) isGlobal.add(address);
      else if (names.has(address)) continue;
      names.set(address, symbols.name(row));
    }
  }
  return names;
}
