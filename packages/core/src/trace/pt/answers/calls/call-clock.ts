/**
 * The time of what is being executed, as TSC ticks since the first time that was told, and never going back: a clock that is
 * corrected by a little stands still until the time is over; one that is set back further begins anew.
 */
import { TWO_32, toBigInt } from '../../../../base/index.ts';
import type { TscEstimate } from '../../tsc-estimate.ts';

/** Corrections are smaller: two wraps of MTC at its slowest. */
const MOST_CORRECTED_TICKS = 1 << 26;
const FIRST_MARKS = 1024;

export class CallClock {
  /** Ticks now; NaN while no time is known. */
  ticks = Number.NaN;
  errorTicks = Number.POSITIVE_INFINITY;
  /** How often the time has gone back further than any correction: times of before and behind are not to be compared. */
  restarts = 0;
  #baseLo = 0;
  #baseHi = 0;
  #hasBase = false;
  // Times that are ahead of what is being executed: `mark` adds, `take` goes on to the next.
  #markTicks = new Float64Array(FIRST_MARKS);
  #markErrors = new Float64Array(FIRST_MARKS);
  #marked = 0;
  #taken = 0;

  /** What `ticks` counts from; null where no time was told. */
  get baseTsc(): bigint | null {
    return this.#hasBase ? toBigInt(this.#baseLo, this.#baseHi) : null;
  }

  /** It is now what the estimate says. True where time began anew. */
  read(estimate: TscEstimate): boolean {
    return this.#set(this.#ticksOf(estimate), estimate.errorTicks);
  }

  mark(estimate: TscEstimate): void {
    if (this.#marked === this.#markTicks.length) this.#grow();
    this.#markTicks[this.#marked] = this.#ticksOf(estimate);
    this.#markErrors[this.#marked++] = estimate.errorTicks;
  }

  /** It is now what the next mark says. True where time began anew. */
  take(): boolean {
    const at = this.#taken++;
    const isNew = this.#set(this.#markTicks[at]!, this.#markErrors[at]!);
    if (this.#taken === this.#marked) this.#taken = this.#marked = 0;
    return isNew;
  }

  #set(ticks: number, errorTicks: number): boolean {
    const before = this.ticks;
    if (ticks < before) {
      if (before - ticks <= MOST_CORRECTED_TICKS) {
        // The clock was too fast by this much.
        this.errorTicks = Math.max(errorTicks, before - ticks);
        return false;
      }
      this.restarts++;
      this.ticks = ticks;
      this.errorTicks = errorTicks;
      return true;
    }
    this.ticks = ticks;
    this.errorTicks = errorTicks;
    return false;
  }

  #ticksOf(estimate: TscEstimate): number {
    if (!estimate.hasTsc) return Number.NaN;
    const { tscLo, tscHi } = estimate;
    if (!this.#hasBase) {
      this.#hasBase = true;
      this.#baseLo = tscLo;
      this.#baseHi = tscHi;
    }
    return (tscHi - this.#baseHi) * TWO_32 + (tscLo - this.#baseLo);
  }

  #grow(): void {
    const ticks = new Float64Array(this.#marked * 2);
    ticks.set(this.#markTicks);
    this.#markTicks = ticks;
    const errors = new Float64Array(this.#marked * 2);
    errors.set(this.#markErrors);
    this.#markErrors = errors;
  }
}
