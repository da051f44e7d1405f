/**
 * Clock value that times of a recording are relative to, so that they stay exact
 * in float64: the first one seen.
 */
export class TimeBase {
  lo = 0;
  hi = 0;
  #isSet = false;

  /** A time of the recording; the first becomes the base. */
  see(lo: number, hi: number): void {
    if (this.#isSet) return;
    this.#isSet = true;
    this.lo = lo;
    this.hi = hi;
  }
}
