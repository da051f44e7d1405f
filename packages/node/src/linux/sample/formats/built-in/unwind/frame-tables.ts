/**
 * The frame information of binaries, as the walk in the kernel reads it:
 *
 *   pages   [ row ][ row ] ...            of every KiB of code: the row in force where it begins
 *   rows    [ place in the file │ rule ]  the rule holds up to the next place
 *   rules   [ one word ] ...              shared by all (core/code/unwind/flat-rules.ts)
 *
 * A KiB has 1024 rows at most, so a search takes ten steps. Tables are only ever added:
 * what the walk reads is complete.
 */
import { FlatRules, type FlatTable } from '@counterpoint/core/unwind';
import type { BpfMapDefinition } from '../../../../kernel/bpf/index.ts';
import type { Mapping } from '../../../../kernel/sys/index.ts';
import type { FormatMaps } from '../../format.ts';
import { mappedArray } from '../../mapped-array.ts';

export const PAGE_SHIFT = 10;
/** Powers of two: the walk cuts every index to them. */
export const MOST_ROWS = 1 << 21;
export const MOST_PAGES = 1 << 19;
export const MOST_RULES = 1 << 14;
export const ROW_BYTES = 8;

export const rows: BpfMapDefinition = mappedArray('frame_rows', MOST_ROWS * ROW_BYTES, 1);
export const pages: BpfMapDefinition = mappedArray('frame_pages', MOST_PAGES * 4 + 8, 1);
export const rules: BpfMapDefinition = mappedArray('frame_rules', MOST_RULES * 8, 1);

/** Where the tables of a binary begin: pages of its file, from `basePage` on. */
export interface TablePlace {
  readonly firstPage: number;
  readonly pages: number;
  readonly basePage: number;
}

export const NO_TABLES: TablePlace = { firstPage: 0, pages: 0, basePage: 0 };

/** Our side of the tables: puts binaries into them. */
export class FrameTables implements Disposable {
  readonly #rules = new FlatRules(MOST_RULES);
  readonly #mappings: Mapping[] = [];
  readonly #rowWords: Uint32Array;
  readonly #pageWords: Uint32Array;
  readonly #ruleWords: Uint32Array;
  #rowCount = 0;
  #pageCount = 0;
  #copiedRules = 0;

  constructor(maps: FormatMaps) {
    try {
      const words = [rows, pages, rules].map(({ name }) => {
        const mapping = maps.get(name)!.mapValues('write');
        this.#mappings.push(mapping);
        return new Uint32Array(mapping.buffer);
      });
      [this.#rowWords, this.#pageWords, this.#ruleWords] = words as [Uint32Array, Uint32Array, Uint32Array];
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** For `flattenInSteps`. */
  get flatRules(): FlatRules {
    return this.#rules;
  }

  /** Null: there is no room for it. */
  add({ offsets, rules: numbers }: FlatTable): TablePlace | null {
    if (offsets.length === 0) return NO_TABLES;
    const basePage = offsets[0]! >>> PAGE_SHIFT;
    const pageCount = (offsets.at(-1)! >>> PAGE_SHIFT) - basePage + 1;
    // A row in front, in force before the first.
    if (this.#rowCount + offsets.length + 1 > MOST_ROWS || this.#pageCount + pageCount + 1 > MOST_PAGES)
      return null;
    this.#copyRules();
    let row = this.#rowCount;
    this.#rowWords[2 * row] = 0;
    this.#rowWords[2 * row + 1] = 0;
    for (let index = 0; index < offsets.length; index++) {
      row++;
      this.#rowWords[2 * row] = offsets[index]!;
      this.#rowWords[2 * row + 1] = numbers[index]!;
    }
    const firstPage = this.#pageCount;
    let inForce = 0;
    for (let page = 0; page <= pageCount; page++) {
      const begin = (basePage + page) * 2 ** PAGE_SHIFT;
      while (inForce < offsets.length && offsets[inForce]! <= begin) inForce++;
      this.#pageWords[firstPage + page] = this.#rowCount + inForce;
    }
    // The last page ends with the last row.
    this.#pageWords[firstPage + pageCount] = this.#rowCount + offsets.length;
    this.#rowCount = row + 1;
    this.#pageCount += pageCount + 1;
    return { firstPage, pages: pageCount, basePage };
  }

  #copyRules(): void {
    const { words, count } = this.#rules;
    this.#ruleWords.set(words.subarray(2 * this.#copiedRules, 2 * count), 2 * this.#copiedRules);
    this.#copiedRules = count;
  }

  [Symbol.dispose](): void {
    for (const mapping of this.#mappings) mapping.close();
  }
}
