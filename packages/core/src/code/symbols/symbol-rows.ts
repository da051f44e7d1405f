import { STB_GLOBAL, STB_WEAK } from '../elf/index.ts';

/** A symbol table by row. `ElfSymbols` is one; the stubs of the PLT and kallsyms are others. */
export interface SymbolSource {
  readonly count: number;
  name(row: number): string;
  /** ELF binding << 4 | type. */
  info(row: number): number;
  /** 0 where the table gives none. */
  size(row: number): number;
}

// What makes one of several names at an address better, the most telling first, as perf prefers.
export const HAS_SIZE = 4;
const IS_STRONG = 2;
const IS_GLOBAL = 1;

/** The symbols taken from some tables, in no order. Names stay in the tables until they are asked for. */
export class SymbolRows {
  count = 0;
  readonly start: Float64Array;
  readonly size: Float64Array;
  /** Of the binding, without HAS_SIZE. */
  readonly score: Uint8Array;
  readonly #source: Uint8Array;
  readonly #row: Uint32Array;
  readonly #sources: SymbolSource[];

  constructor(sources: SymbolSource[]) {
    this.#sources = sources;
    const capacity = sources.reduce((sum, source) => sum + source.count, 0);
    this.start = new Float64Array(capacity);
    this.size = new Float64Array(capacity);
    this.score = new Uint8Array(capacity);
    this.#source = new Uint8Array(capacity);
    this.#row = new Uint32Array(capacity);
  }

  /** Takes row `row` of a source. Each may be taken once. */
  add(start: number, size: number, info: number, source: number, row: number): void {
    const index = this.count++;
    const binding = info >> 4;
    this.start[index] = start;
    this.size[index] = size;
    this.score[index] = (binding !== STB_WEAK ? IS_STRONG : 0) | (binding === STB_GLOBAL ? IS_GLOBAL : 0);
    this.#source[index] = source;
    this.#row[index] = row;
  }

  name(index: number): string {
    return this.#sources[this.#source[index]!]!.name(this.#row[index]!);
  }
}
