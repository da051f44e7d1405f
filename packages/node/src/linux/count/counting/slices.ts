import type { Reading } from '../requests/types.ts';

/**
 * What the slices of time in which an event was counted say about the slices in which it was not: how much
 * its rate varies from one to the next. Mean and variance in one pass (Welford).
 *
 *   time      | A |   B   | A |   B   | A |        event in set A: three slices seen, two not
 *   counts     10          14          12          so about 12 ± something in each of the others
 */
export class SliceStatistics {
  #slices = 0;
  /** Counts per ns of running time. */
  #meanRate = 0;
  #squares = 0;

  /** One slice, by what it counted and for how long. */
  add({ value, runningNs }: Reading): void {
    if (runningNs === 0n) return;
    const rate = Number(value) / Number(runningNs);
    this.#slices++;
    const delta = rate - this.#meanRate;
    this.#meanRate += delta / this.#slices;
    this.#squares += delta * (rate - this.#meanRate);
  }

  reset(): void {
    this.#slices = 0;
    this.#meanRate = 0;
    this.#squares = 0;
  }

  /**
   * 95 % bound of the error of `value * enabled / running`. The slices are taken as a sample without
   * replacement from all of the time: the estimate of a total of N slices from n of them has the variance N²
   * (1 - n/N) s²/n. However alike they are, it is no finer than one count more or less in what was seen. On
   * top comes all that the switches themselves, `unseenNs`, may have hidden. 0 where all of the time was
   * seen; null where fewer than two slices were.
   */
  errorBound({ value, enabledNs, runningNs }: Reading, unseenNs = 0): number | null {
    const hidden = runningNs === 0n ? 0 : (Number(value) / Number(runningNs)) * unseenNs;
    if (runningNs >= enabledNs) return hidden;
    if (this.#slices < 2) return null;
    const running = Number(runningNs);
    const seen = running / Number(enabledNs);
    const sliceNs = running / this.#slices;
    const all = this.#slices / seen;
    const deviation = Math.sqrt(this.#squares / (this.#slices - 1)) * sliceNs;
    const standardError = all * deviation * Math.sqrt((1 - seen) / this.#slices);
    return Math.max(studentT95(this.#slices - 1) * standardError, 1 / seen) + hidden;
  }
}

/** Two-sided 95 % points of Student's t distribution by degrees of freedom, from 1. */
const T95 = [
  12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
];

export function studentT95(degreesOfFreedom: number): number {
  const listed = T95[degreesOfFreedom - 1];
  // Beyond the list the distance to the normal distribution's 1.96 shrinks with 1/n.
  return listed ?? 1.96 + 2.5 / degreesOfFreedom;
}
