/**
 * Lets triggers through, but not too many: of those that come by themselves one in so much time, whichever
 * they are. The others are counted.
 */
export class TriggerGate {
  readonly #minIntervalMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #sinceLast = 0;
  suppressed = 0;

  constructor(minIntervalMs: number) {
    this.#minIntervalMs = minIntervalMs;
  }

  /** Whether there is to be a file. */
  lets(isByHand: boolean, nowMs: number = performance.now()): boolean {
    if (!isByHand && nowMs - this.#lastMs < this.#minIntervalMs) {
      this.suppressed++;
      this.#sinceLast++;
      return false;
    }
    this.#lastMs = nowMs;
    return true;
  }

  /** How many were not let through since this was asked last. */
  takeSuppressed(): number {
    const count = this.#sinceLast;
    this.#sinceLast = 0;
    return count;
  }
}
