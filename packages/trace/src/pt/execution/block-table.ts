import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
} from '../../code/instructions/index.ts';
import {
  BEHIND_SHIFT,
  END_CALL,
  END_CALL_INDIRECT,
  END_CONDITIONAL,
  END_FAR,
  END_JUMP_INDIRECT,
  END_MASK,
  END_RETURN,
  END_SILENT,
  NONE_BEHIND,
  PLACE_WORDS,
} from './block-ends.ts';

const HIGH = 0x1_0000_0000;

const END_OF_KIND: Readonly<Record<number, number>> = {
  [KIND_CONDITIONAL]: END_CONDITIONAL,
  [KIND_CALL]: END_CALL,
  [KIND_CALL_INDIRECT]: END_CALL_INDIRECT,
  [KIND_JUMP_INDIRECT]: END_JUMP_INDIRECT,
  [KIND_RETURN]: END_RETURN,
  [KIND_FAR_CALL]: END_FAR,
  [KIND_FAR_RETURN]: END_FAR,
  [KIND_FAR_JUMP]: END_FAR,
};

/**
 * Blocks of code by number: instructions of 64-bit code that are executed from the first to the last. No two
 * begin at the same place. Columns, for `StepEncoder.blocks`: of most blocks it reads one word.
 *
 *   ends      END_* | number of the block behind it << BEHIND_SHIFT (-1: there is none yet)
 *   places    its beginning, and where the instruction behind it stands: low and high half each
 *
 * @internal
 */
export class BlockTable {
  ends = new Int32Array(256);
  places = new Int32Array(256 * PLACE_WORDS);
  #size = 0;
  readonly #ids = new Map<number, number>();
  /** Blocks with an outcome that have no block behind them yet, by where it would begin. */
  readonly #waiting = new Map<number, number[]>();

  /** How many there are: the number of the next one. */
  get size(): number {
    return this.#size;
  }

  /** A block from `pc` up to `next`, whose last instruction is of `kind` (KIND_*). Returns its number. */
  add(pc: number, next: number, kind: number): number {
    const id = this.#size++;
    if (id === this.ends.length) this.#grow();
    this.places.set([pc | 0, highOf(pc), next | 0, highOf(next)], id * PLACE_WORDS);
    this.#ids.set(pc, id);
    const end = END_OF_KIND[kind] ?? END_SILENT;
    this.ends[id] = end | (NONE_BEHIND << BEHIND_SHIFT);
    if (end === END_CONDITIONAL) this.#findBehind(id, next);
    for (const before of this.#waiting.get(pc) ?? []) this.#setBehind(before, id);
    this.#waiting.delete(pc);
    return id;
  }

  startOf(id: number): number {
    const at = id * PLACE_WORDS;
    return this.places[at + 1]! * HIGH + (this.places[at]! >>> 0);
  }

  copy(): BlockTable {
    const copy = new BlockTable();
    copy.ends = this.ends.slice();
    copy.places = this.places.slice();
    copy.#size = this.#size;
    for (const [pc, id] of this.#ids) copy.#ids.set(pc, id);
    for (const [pc, ids] of this.#waiting) copy.#waiting.set(pc, [...ids]);
    return copy;
  }

  #findBehind(id: number, next: number): void {
    const behind = this.#ids.get(next);
    if (behind !== undefined) {
      this.#setBehind(id, behind);
      return;
    }
    const waiting = this.#waiting.get(next);
    if (waiting === undefined) this.#waiting.set(next, [id]);
    else waiting.push(id);
  }

  #setBehind(id: number, behind: number): void {
    this.ends[id] = (this.ends[id]! & END_MASK) | (behind << BEHIND_SHIFT);
  }

  #grow(): void {
    const { ends, places } = this;
    this.ends = new Int32Array(2 * ends.length);
    this.ends.set(ends);
    this.places = new Int32Array(2 * places.length);
    this.places.set(places);
  }
}

function highOf(address: number): number {
  return Math.floor(address / HIGH) | 0;
}
