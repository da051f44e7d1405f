import type { TriggerSource } from './triggers/index.ts';

/** While files are still to be written that triggers asked for, look again after so long. */
const BUSY_MS = 10;
/** One is being written, and the next has all that comes meanwhile. */
const MOST_UNWRITTEN = 2;

/**
 * Lets triggers through, but not too many: of those that something makes one in so much time, whichever they
 * are, and of those of a clock no more than files can be written. The others are counted.
 */
export class TriggerGate {
  readonly #minIntervalMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #sinceLast = 0;
  suppressed = 0;
  /** Files that triggers asked for, and that are not written yet. */
  unwritten = 0;

  constructor(minIntervalMs: number) {
    this.#minIntervalMs = minIntervalMs;
  }

  /** Whether there is to be a file. */
  lets(source: TriggerSource, nowMs: number = performance.now()): boolean {
    if (source !== 'person' && (source === 'clock' ? this.#busyMs : this.closedMs(nowMs)) > 0) {
      this.addSuppressed(1);
      return false;
    }
    // The file of a clock is not about what happens, and so it is in the way of nothing that does.
    if (source !== 'clock') this.#lastMs = nowMs;
    return true;
  }

  get #busyMs(): number {
    return this.unwritten >= MOST_UNWRITTEN ? BUSY_MS : 0;
  }

  /** For so long from now nothing that happens is let through, at least; 0 is open. */
  closedMs(nowMs: number = performance.now()): number {
    return Math.max(this.#minIntervalMs - (nowMs - this.#lastMs), this.#busyMs, 0);
  }

  addSuppressed(count: number): void {
    this.suppressed += count;
    this.#sinceLast += count;
  }

  /** How many were not let through since this was asked last. */
  takeSuppressed(): number {
    const count = this.#sinceLast;
    this.#sinceLast = 0;
    return count;
  }
}
