/**
 * The time of what is being executed, as TSC ticks since the first time that was told, and never
 * going back: a clock that is corrected by a little stands still until the time is over; one that is
 * set back further begins anew.
 */
import { TWO_32, toBigInt } from '@counterpoint/core/base';
import type { TscEstimate } from '../../time/tsc-estimate.ts';

/** Corrections are smaller: two wraps of MTC at its slowest. */
const MOST_CORRECTED_TICKS = 1 << 26;

export class CallClock {
  /** Ticks that were told last; NaN while no time is known. */
  ticks = Number.NaN;
  errorTicks = Number.POSITIVE_INFINITY;
  /**
   * How often the time has gone back further than any correction: times of before and
   * behind are not to be compared.
   */
  restarts = 0;
  /** What `ticks` counts from; null where no time was told. */
  baseTsc: bigint | null = null;
  #baseLo = 0;
  #baseHi = 0;
  // What was read, and not told yet.
  #lo = 0;
  #hi = 0;
  #hasTime = false;
  #error = Number.POSITIVE_INFINITY;
  #last: number = Number.NEGATIVE_INFINITY;

  /** It is now what the estimate says. */
  read(estimate: TscEstimate): void {
    this.#lo = estimate.tscLo;
    this.#hi = estimate.tscHi;
    this.#hasTime = estimate.hasTsc;
    this.#error = estimate.errorTicks;
  }

  /** Put into `ticks` what time it is. True where time began anew. */
  tell(): boolean {
    if (!this.#hasTime) {
      this.ticks = Number.NaN;
      this.errorTicks = Number.POSITIVE_INFINITY;
      return false;
    }
    if (this.baseTsc === null) {
      this.baseTsc = toBigInt(this.#lo, this.#hi);
      this.#baseLo = this.#lo;
      this.#baseHi = this.#hi;
    }
    const before = this.#last;
    const ticks = (this.#hi - this.#baseHi) * TWO_32 + (this.#lo - this.#baseLo);
    this.errorTicks = this.#error;
    const isBack = ticks < before;
    if (isBack && before - ticks <= MOST_CORRECTED_TICKS) {
      // The clock was too fast by this much.
      this.errorTicks = Math.max(this.#error, before - ticks);
      this.ticks = before;
      return false;
    }
    this.ticks = ticks;
    this.#last = ticks;
    if (isBack) this.restarts++;
    return isBack;
  }
}
