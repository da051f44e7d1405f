import { hiOf, loOf, TWO_32 } from '@counterpoint/core/base';
import { PT_LOAD } from '@counterpoint/core/elf';
import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
} from '../../../code/instructions/index.ts';
import type { ExactProfile } from '../exact-profile.ts';
import type { ProgramFile } from './program-file.ts';

/** What a profile knows of one file: instructions in the order of their addresses, which are the file's. */
export class FileCounts {
  /** The file that it is about. */
  readonly file: ProgramFile;
  /** By place: address of the instruction, ascending. */
  readonly address: Float64Array;
  /** Bytes; 0 where an instruction was gone to and not executed. */
  readonly size: Int32Array;
  /** By place: KIND_*. */
  readonly kind: Int32Array;
  /** By place: times executed. */
  readonly executed: Float64Array;
  /** Of conditional branches: how often they jumped. */
  readonly taken: Float64Array;
  /** Branches within the file and out of it, by places; -1 where they go out. */
  readonly branches: { from: number; to: number; toAddress: number; count: number }[] = [];

  constructor(profile: ExactProfile, file: ProgramFile) {
    this.file = file;
    const biasLo = loOf(file.bias);
    const biasHi = hiOf(file.bias);
    /** An address in memory is the file's own plus the bias; the difference is exact below 2^53. */
    const addressOf = (row: number): number =>
      ((profile.hiOf(row) - biasHi) | 0) * TWO_32 + ((profile.loOf(row) >>> 0) - biasLo);
    const loaded = file.elf.segments.filter((one) => one.type === PT_LOAD);
    const rows = profile.sortedRows().filter((row) => {
      const at = addressOf(row);
      return loaded.some(({ address, memorySize }) => at >= address && at < address + memorySize);
    });
    this.address = Float64Array.from(rows, addressOf);
    this.size = Int32Array.from(rows, (row) => profile.size.at(row));
    this.kind = Int32Array.from(rows, (row) => profile.kind.at(row));
    this.executed = Float64Array.from(rows, (row) => profile.executed.at(row));
    this.taken = new Float64Array(rows.length);
    const placeOfRow = new Int32Array(profile.rows).fill(-1);
    rows.forEach((row, place) => {
      placeOfRow[row] = place;
    });
    profile.branches.forEach((fromRow, toRow, count) => {
      const from = placeOfRow[fromRow]!;
      if (from < 0) return;
      this.branches.push({ from, to: placeOfRow[toRow]!, toAddress: addressOf(toRow), count });
      if (this.kind[from] === KIND_CONDITIONAL) this.taken[from]! += count;
    });
  }

  /** Number of places. */
  get length(): number {
    return this.address.length;
  }

  /** The place of an address, or -1. */
  placeOf(address: number): number {
    const place = this.firstFrom(address);
    return this.address[place] === address ? place : -1;
  }

  /** The first place at an address or behind it. */
  firstFrom(address: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.address[middle]! < address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Times that the instruction at an address was executed. */
  executedAt(address: number): number {
    const place = this.placeOf(address);
    return place < 0 ? 0 : this.executed[place]!;
  }

  /** Is the instruction at a place right before that at the next? */
  isNextAdjacent(place: number): boolean {
    return place + 1 < this.length && this.address[place]! + this.size[place]! === this.address[place + 1];
  }

  /**
   * How often an instruction went on with the one behind it, or came back to there: calls do both, and
   * system calls that are not traced.
   */
  goesOn(place: number): number {
    const executed = this.executed[place]!;
    const kind = this.kind[place]!;
    if (kind < KIND_CALL || kind === KIND_CALL || kind === KIND_CALL_INDIRECT || kind === KIND_FAR_CALL)
      return executed;
    return kind === KIND_CONDITIONAL ? Math.max(0, executed - this.taken[place]!) : 0;
  }
}
