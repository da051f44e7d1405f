import type { NameSource } from './code-symbols.ts';
import { HAS_SIZE, type SymbolRows } from './symbol-rows.ts';

/**
 * No more names than this are compared at one address: identical-code folding
 * makes hundreds, damage millions.
 */
const MAX_COMPARED = 1024;

/**
 * Chooses among the names at one address. Size and binding decide at once; names that tie in those are
 * compared demangled (fewer leading underscores, then longer, then earlier), so that waits until someone
 * asks: a report wants some hundreds of the hundred thousand names of a large binary.
 */
export class AliasNames implements NameSource {
  readonly #rows: SymbolRows;
  /** Rows by address. */
  readonly #order: Uint32Array;
  /** Symbol s has the places of `order` from first[s] up to first[s + 1]. */
  readonly #first: Uint32Array;
  readonly #demangle: (name: string) => string;

  constructor(rows: SymbolRows, order: Uint32Array, first: Uint32Array, demangle: (name: string) => string) {
    this.#rows = rows;
    this.#order = order;
    this.#first = first;
    this.#demangle = demangle;
  }

  rawName(symbol: number): string {
    return this.#rows.name(this.#choose(this.#first[symbol]!, this.#first[symbol + 1]!));
  }

  name(symbol: number): string {
    return this.#demangle(this.rawName(symbol));
  }

  /**
   * The size of the symbol at places `from` up to `to`, all at one address. Only the last of those without a
   * size counts as having one: it reaches to the next address, the others to itself.
   */
  sizeOf(from: number, to: number): number {
    let best = -1;
    let size = 0;
    for (let at = from; at < to; at++) {
      const row = this.#order[at]!;
      const score = this.#score(at, to);
      if (score < best) continue;
      if (score === best && this.#rows.size[row] !== size) return this.#rows.size[this.#choose(from, to)]!;
      best = score;
      size = this.#rows.size[row]!;
    }
    return size;
  }

  #score(at: number, to: number): number {
    const row = this.#order[at]!;
    return this.#rows.score[row]! | (this.#rows.size[row]! > 0 || at === to - 1 ? HAS_SIZE : 0);
  }

  /** The best row of those at places `from` up to `to`. */
  #choose(from: number, to: number): number {
    let best = -1;
    for (let at = from; at < to; at++) best = Math.max(best, this.#score(at, to));
    let chosen = -1;
    let chosenName: string | null = null;
    let compared = 0;
    for (let at = from; at < to && compared < MAX_COMPARED; at++) {
      if (this.#score(at, to) !== best) continue;
      compared++;
      const row = this.#order[at]!;
      if (chosen !== -1) {
        chosenName ??= this.#demangle(this.#rows.name(chosen));
        const name = this.#demangle(this.#rows.name(row));
        const fewer = underscores(chosenName) - underscores(name);
        if (fewer < 0 || (fewer === 0 && name.length <= chosenName.length)) continue;
        chosenName = name;
      }
      chosen = row;
    }
    return chosen;
  }
}

function underscores(name: string): number {
  let count = 0;
  while (name.charCodeAt(count) === 0x5f) count++;
  return count;
}
