/**
 * Entries of the stack that compresses returns (SDM, Intel Processor Trace, "Indirect
 * Transfer Compression for Returns").
 */
const ENTRIES = 64;

/** Return addresses of the last calls; the oldest is forgotten when there are too many. */
export class CallStack {
  readonly #lo = new Int32Array(ENTRIES);
  readonly #hi = new Int32Array(ENTRIES);
  #top = 0;
  #count = 0;

  push(lo: number, hi: number): void {
    this.#top = (this.#top + 1) % ENTRIES;
    this.#lo[this.#top] = lo;
    this.#hi[this.#top] = hi;
    if (this.#count < ENTRIES) this.#count++;
  }

  /** True, and the entry is gone, where the top is that address. */
  pop(lo: number, hi: number): boolean {
    if (this.#count === 0 || this.#lo[this.#top] !== lo || this.#hi[this.#top] !== hi) return false;
    this.#top = (this.#top + ENTRIES - 1) % ENTRIES;
    this.#count--;
    return true;
  }

  clear(): void {
    this.#count = 0;
  }
}
