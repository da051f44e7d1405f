import type { EventInstance, SampledEvents } from '../../../kernel/perf-events/index.ts';
import type { Sys } from '../../../kernel/sys/index.ts';

/**
 * Holds the rings of a trigger's events while a hit would write no file, so that a storm of hits wakes nobody
 * and costs the watched program no more than the count does. The kernel counts what it does not write:
 *
 *   hit ─> ring ─> we wake ─> fire        hits ─> lost count        hit ─> ring ─> we wake ─> fire
 *   ───────── open ─────────┤├──────────── held ────────────┤├──────────────── open ────────
 */
export class HeldHits {
  readonly #sys: Sys;
  readonly #sampled: SampledEvents;
  readonly #period: bigint;
  /** One descriptor of each ring. */
  readonly #ringFds: readonly EventInstance[];
  #timer: NodeJS.Timeout | null = null;
  #told = 0n;
  /** What came through the rings, for kernels that do not count what they do not write. */
  #seen = 0n;

  /** An event counts `period` times for one hit. */
  constructor(sys: Sys, sampled: SampledEvents, period: bigint) {
    this.#sys = sys;
    this.#sampled = sampled;
    this.#period = period;
    const byRing = new Map<number, EventInstance>();
    for (const { instances } of sampled.events)
      for (const instance of instances) byRing.set(instance.ring, instance);
    this.#ringFds = [...byRing.values()];
  }

  /** A hit has come through a ring. */
  countSeen(): void {
    this.#seen++;
  }

  /** Nothing comes through the rings as long as `closedMs` says so. False where that is so already. */
  hold(closedMs: () => number): boolean {
    const ms = closedMs();
    if (ms <= 0 || this.#timer !== null) return false;
    this.#pause(true);
    const open = () => {
      const leftMs = closedMs();
      this.#timer = leftMs > 0 ? setTimeout(open, Math.ceil(leftMs)) : null;
      if (this.#timer === null) this.#pause(false);
    };
    this.#timer = setTimeout(open, Math.ceil(ms));
    return true;
  }

  #pause(isPaused: boolean): void {
    for (const { fd } of this.#ringFds) this.#sys.pauseOutput(fd, isPaused);
  }

  /**
   * Hits that never came through the rings, since this was asked last: held ones, and those of full rings.
   */
  takeCount(): number {
    const hits = this.#unwritten();
    const news = hits - this.#told;
    if (news <= 0n) return 0;
    this.#told = hits;
    return Number(news);
  }

  #unwritten(): bigint {
    const totals = this.#sampled.readLost();
    if (totals.length > 0) return totals.reduce((sum, { lostSamples }) => sum + lostSamples, 0n);
    // Before Linux 6.0: the events' own counts, less what came. Each instance counts to N on its own.
    const word = new BigUint64Array(1);
    let hits = 0n;
    for (const { instances } of this.#sampled.events)
      for (const { fd } of instances) {
        this.#sys.read(fd, new Uint8Array(word.buffer));
        hits += word[0]! / this.#period;
      }
    return hits - this.#seen;
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
