import type { Pieces } from './pieces.ts';

/** Where the names of a table come from. Asked only for symbols that someone looks at. */
export interface NameSource {
  /** The name as the file has it. */
  rawName(symbol: number): string;
  /** The name for people. */
  name(symbol: number): string;
}

/**
 * The functions of one binary by address. An address is the signed 64-bit value as float64, so user addresses
 * and kernel ones are exact: a file offset for ELF tables (ip - mapping start + mapping offset), the address
 * itself for the kernel and for JIT code.
 */
export class CodeSymbols {
  /** Number of symbols. */
  readonly length: number;
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  readonly #pieces: Pieces;
  readonly #names: NameSource;
  readonly #named = new Map<number, string>();

  /**
   * `starts` ascend. `pieces` say who has the bytes wherever symbols overlap.
   *
   * @internal
   */
  constructor(starts: Float64Array, ends: Float64Array, pieces: Pieces, names: NameSource) {
    this.length = starts.length;
    this.#starts = starts;
    this.#ends = ends;
    this.#pieces = pieces;
    this.#names = names;
  }

  /** The symbol at an address, or -1. */
  lookup(address: number): number {
    const piece = lastNotAfter(this.#pieces.start, address);
    if (piece >= 0 && address < this.#pieces.end[piece]!) return this.#pieces.symbol[piece]!;
    const symbol = lastNotAfter(this.#starts, address);
    return symbol >= 0 && address < this.#ends[symbol]! ? symbol : -1;
  }

  /** First address of a symbol. */
  start(symbol: number): number {
    return this.#starts[symbol]!;
  }

  /** First address after a symbol. */
  end(symbol: number): number {
    return this.#ends[symbol]!;
  }

  /** The name as the file has it (mangled). */
  rawName(symbol: number): string {
    return this.#names.rawName(symbol);
  }

  /** The name as reports print it (demangled). */
  name(symbol: number): string {
    let name = this.#named.get(symbol);
    if (name === undefined) {
      name = this.#names.name(symbol);
      this.#named.set(symbol, name);
    }
    return name;
  }
}

/** Index of the last of the ascending values that is at most `value`, or -1. */
function lastNotAfter(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
