import { toBigInt } from '@counterpoint/core/base';
import {
  PEBS_BASIC,
  PEBS_ITEMS,
  PEBS_LBR_FIRST,
  PEBS_LBR_ITEMS,
  PEBS_LBR_LAST,
  PEBS_MEMORY,
  PEBS_REGISTERS,
  PEBS_XMM,
} from './pebs-blocks.ts';

/** Blocks that are kept, by place; a type that is not here is passed over. */
const BLOCKS: readonly number[] = [PEBS_REGISTERS, PEBS_BASIC, PEBS_MEMORY, 8, 9, 10, PEBS_XMM];

/** A last branch as a PEBS record has it. */
export interface PebsBranch {
  from: bigint;
  to: bigint;
  info: bigint;
}

/**
 * One PEBS record, from its packets:
 *
 *   BBP 4 | BIP 0 ip | BIP 2 tsc | BBP 1 | BIP 2 ax | ... | BEP
 *   begin   item       item        begin   item               the record is whole: look, then `clear`
 */
export class PebsRecord {
  /** Items of 4 bytes in the block of registers: a program of 32 bits. */
  is32Bit = false;
  readonly #lo = new Int32Array(BLOCKS.length * PEBS_ITEMS);
  readonly #hi = new Int32Array(BLOCKS.length * PEBS_ITEMS);
  /** By block: a bit for each item that came. */
  readonly #masks = new Int32Array(BLOCKS.length);
  #block = -1;

  begin(type: number, itemBytes: number): void {
    this.#block = BLOCKS.indexOf(type);
    if (type === PEBS_REGISTERS) this.is32Bit = itemBytes === 4;
  }

  /** An item of the block that was begun; of two with one number the later counts. */
  item(id: number, lo: number, hi: number): void {
    if (this.#block < 0 || id < 0 || id >= PEBS_ITEMS) return;
    const at = this.#block * PEBS_ITEMS + id;
    this.#lo[at] = lo;
    this.#hi[at] = hi;
    this.#masks[this.#block]! |= 1 << id;
  }

  clear(): void {
    this.is32Bit = false;
    this.#masks.fill(0);
    this.#block = -1;
  }

  /** No item that is known came. */
  get isEmpty(): boolean {
    return this.#masks.every((mask) => mask === 0);
  }

  /** Which items of a block came, a bit for each. */
  itemsOf(type: number): number {
    return this.#masks[BLOCKS.indexOf(type)] ?? 0;
  }

  has(type: number, id: number): boolean {
    return (this.itemsOf(type) & (1 << id)) !== 0;
  }

  /** Low half of an item, int32; 0 where it did not come. */
  loOf(type: number, id: number): number {
    return this.has(type, id) ? this.#lo[BLOCKS.indexOf(type) * PEBS_ITEMS + id]! : 0;
  }

  hiOf(type: number, id: number): number {
    return this.has(type, id) ? this.#hi[BLOCKS.indexOf(type) * PEBS_ITEMS + id]! : 0;
  }

  valueOf(type: number, id: number): bigint {
    return toBigInt(this.loOf(type, id) >>> 0, this.hiOf(type, id) >>> 0);
  }

  /** Last branches of which all three items came, the newest first. */
  branches(): PebsBranch[] {
    const branches: PebsBranch[] = [];
    for (let type = PEBS_LBR_FIRST; type <= PEBS_LBR_LAST; type++)
      for (let id = 0; id + PEBS_LBR_ITEMS <= PEBS_ITEMS; id += PEBS_LBR_ITEMS)
        if (((this.itemsOf(type) >>> id) & 7) === 7)
          branches.push({
            from: this.valueOf(type, id),
            to: this.valueOf(type, id + 1),
            info: this.valueOf(type, id + 2),
          });
    return branches;
  }
}
