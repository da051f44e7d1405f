import { compareU64, toBigInt } from '@counterpoint/core/base';
import type { BranchEntry } from '@counterpoint/core/records';
import type { RecordBuffer } from './record-buffer.ts';

/** struct perf_branch_entry: bits of its third word. */
const ENTRY_ABORT = 1 << 3;
const ENTRY_IN_TRANSACTION = 1 << 2;

/** The newest branches of a thread: a ring, as the LBR of a CPU. */
export class LastBranches {
  readonly #words: Int32Array;
  readonly #size: number;
  #next = 0;
  #count = 0;

  constructor(size: number) {
    this.#size = size;
    this.#words = new Int32Array(size * 5);
  }

  add(
    fromLo: number,
    fromHi: number,
    toLo: number,
    toHi: number,
    isAbort: boolean,
    isInTransaction: boolean,
  ): void {
    const words = this.#words;
    const at = this.#next * 5;
    words[at] = fromLo;
    words[at + 1] = fromHi;
    words[at + 2] = toLo;
    words[at + 3] = toHi;
    words[at + 4] = (isAbort ? ENTRY_ABORT : 0) | (isInTransaction ? ENTRY_IN_TRANSACTION : 0);
    this.#next = this.#next + 1 === this.#size ? 0 : this.#next + 1;
    if (this.#count < this.#size) this.#count++;
  }

  clear(): void {
    this.#count = 0;
  }

  /** The newest first. */
  entries(most: number): BranchEntry[] {
    return Array.from({ length: Math.min(most, this.#count) }, (_, n) => this.#entryAt(this.#placeOf(n)));
  }

  /**
   * The branches before a sample that was written down later: those of the kernel since then are left out. A
   * sample of user code was before the newest branch that went to user code; one of the kernel between the
   * end of one branch and the begin of the next.
   */
  lateEntries(ipLo: number, ipHi: number, most: number): BranchEntry[] {
    const words = this.#words;
    const isKernel = (ipHi | 0) < 0;
    const entries: BranchEntry[] = [];
    let hasBegun = false;
    for (let n = 0; n < this.#count && entries.length < most; n++) {
      const at = this.#placeOf(n);
      if (!hasBegun) {
        const toHi = words[at + 3]!;
        hasBegun = isKernel
          ? toHi >= 0 ||
            words[at + 1]! >= 0 ||
            (n > 0 && this.#isBetween(at, this.#placeOf(n - 1), ipLo, ipHi))
          : toHi >= 0 && (toHi !== 0 || words[at + 2] !== 0);
      }
      if (hasBegun) entries.push(this.#entryAt(at));
    }
    return entries;
  }

  /** Straight from where one branch went to where the next one was. */
  #isBetween(at: number, next: number, ipLo: number, ipHi: number): boolean {
    const words = this.#words;
    const isAfter = compareU64(ipLo >>> 0, ipHi >>> 0, words[at + 2]! >>> 0, words[at + 3]! >>> 0) >= 0;
    return isAfter && compareU64(ipLo >>> 0, ipHi >>> 0, words[next]! >>> 0, words[next + 1]! >>> 0) <= 0;
  }

  /** Of the newest but `n`. */
  #placeOf(n: number): number {
    return ((this.#next - 1 - n + this.#size) % this.#size) * 5;
  }

  #entryAt(at: number): BranchEntry {
    const words = this.#words;
    return {
      from: toBigInt(words[at]! >>> 0, words[at + 1]! >>> 0),
      to: toBigInt(words[at + 2]! >>> 0, words[at + 3]! >>> 0),
      flags: BigInt(words[at + 4]!),
    };
  }

  /** Their number, then each from, to and flags; the newest first. */
  write(buffer: RecordBuffer, most: number): void {
    const words = this.#words;
    const count = Math.min(most, this.#count);
    buffer.pair(count, 0);
    for (let n = 0; n < count; n++) {
      const at = this.#placeOf(n);
      buffer.pair(words[at]!, words[at + 1]!);
      buffer.pair(words[at + 2]!, words[at + 3]!);
      buffer.pair(words[at + 4]!, 0);
    }
  }
}
