const MOST_BINS = 1024;
const FIRST_BIN_NS = 1e6;

/** How much of each part of the time was busy: bins that double their width when the time outgrows them. */
export class BusyTimeline {
  readonly #originNs: number;
  #bins = new Float64Array(MOST_BINS);
  #binNs = FIRST_BIN_NS;

  constructor(originNs: number) {
    this.#originNs = originNs;
  }

  get binNs(): number {
    return this.#binNs;
  }

  add(startNs: number, endNs: number): void {
    let from = Math.max(0, startNs - this.#originNs);
    const to = endNs - this.#originNs;
    while (to > this.#binNs * MOST_BINS) this.#widen();
    while (from < to) {
      const bin = Math.floor(from / this.#binNs);
      const end = Math.min(to, (bin + 1) * this.#binNs);
      // Where rounding leaves nothing of a bin.
      if (bin >= MOST_BINS || end <= from) return;
      this.#bins[bin]! += end - from;
      from = end;
    }
  }

  /** Busy nanoseconds of each bin up to `endNs`. */
  list(endNs: number): number[] {
    const used = Math.ceil(Math.max(0, endNs - this.#originNs) / this.#binNs);
    return [...this.#bins.subarray(0, Math.min(MOST_BINS, used))];
  }

  #widen(): void {
    const wider = new Float64Array(MOST_BINS);
    for (let bin = 0; bin < MOST_BINS; bin++) wider[bin >> 1]! += this.#bins[bin]!;
    this.#bins = wider;
    this.#binNs *= 2;
  }
}
