import { Float64Column, Int32Column } from '../../profile/tables/index.ts';

/** Times in which one thread did not run, in order. */
export class OffCpuSpans {
  readonly #startNs = new Float64Column();
  readonly #endNs = new Float64Column();
  /** 1: it was ready to run and the CPU was taken away. */
  readonly #isReady = new Int32Column();
  /** Row of `Profile.samples` taken when it began, or -1; filled later. */
  readonly #sample = new Int32Column();
  #outNs: number | null = null;
  #outIsReady = false;

  get length(): number {
    return this.#startNs.length;
  }

  out(timeNs: number, isReady: boolean): void {
    this.#outNs = timeNs;
    this.#outIsReady = isReady;
  }

  /** `isWanted`: else the span is forgotten, as those in the wait of a loop are. */
  in(timeNs: number, isWanted: boolean): void {
    const outNs = this.#outNs;
    this.#outNs = null;
    if (outNs === null || !isWanted || timeNs <= outNs) return;
    this.#push(outNs, timeNs, this.#outIsReady);
  }

  /** The recording ended, or the thread. */
  end(timeNs: number, isWanted: boolean): void {
    this.in(timeNs, isWanted);
  }

  span(index: number): { startNs: number; endNs: number; isReady: boolean; sample: number } {
    return {
      startNs: this.#startNs.at(index),
      endNs: this.#endNs.at(index),
      isReady: this.#isReady.at(index) === 1,
      sample: this.#sample.at(index),
    };
  }

  setSample(index: number, row: number): void {
    this.#sample.data[index] = row;
  }

  /** The first span that ends after this time. */
  firstAfter(timeNs: number): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#endNs.at(middle) <= timeNs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #push(startNs: number, endNs: number, isReady: boolean): void {
    this.#startNs.push(startNs);
    this.#endNs.push(endNs);
    this.#isReady.push(isReady ? 1 : 0);
    this.#sample.push(-1);
  }
}
