import type { MapTime } from '@counterpoint/core/jit';

/** Beyond this every other time is left out: of a long recording they are known less exactly. */
const MOST_TIMES = 1 << 16;
/** If a map grows at each of this many looks, no time is known for its size. */
const MOST_TRIES = 5;

/**
 * When a map had which size: of each size, the first look at which it had it, and the last one. A line came
 * between the last look without it and the first one with it.
 */
export class MapTimesLog {
  #times: MapTime[] = [];
  /** The last look. */
  #latest: MapTime | null = null;

  /** At the last look; -1: there was none. */
  get sizeBytes(): number {
    return this.#latest?.sizeBytes ?? -1;
  }

  /**
   * Looks at the map. A time counts only if the map had the same size before and after it: between asking for
   * the size and asking for the time another program may run for milliseconds.
   *
   *     size   50 ─┐      70 ── 70
   *     time       └ no        └ at this time there were 70 bytes
   *
   * What has not grown had its size at any time since the last look.
   */
  look(sizeOf: () => number, nowNs: () => bigint): void {
    let timeNs = nowNs();
    let sizeBytes = sizeOf();
    for (let tries = 0; sizeBytes !== this.sizeBytes; tries++) {
      if (tries === MOST_TRIES) return;
      timeNs = nowNs();
      const before = sizeBytes;
      sizeBytes = sizeOf();
      if (sizeBytes === before) break;
    }
    this.#add(timeNs, sizeBytes);
  }

  /** All times ascend. */
  #add(timeNs: bigint, sizeBytes: number): void {
    // A program began its map anew: what was known of the one before says nothing of this one.
    if (this.#latest !== null && sizeBytes < this.#latest.sizeBytes) {
      this.#times = [];
      this.#latest = null;
    }
    const latest = this.#latest;
    if (latest !== null && latest.sizeBytes === sizeBytes) {
      latest.timeUs = Math.max(latest.timeUs, Number(timeNs / 1000n));
      return;
    }
    if (latest !== null) this.#push(latest);
    const firstUs = Number((timeNs + 999n) / 1000n);
    this.#push({ timeUs: firstUs, sizeBytes });
    this.#latest = { timeUs: firstUs, sizeBytes };
  }

  list(): MapTime[] {
    const latest = this.#latest;
    const isLater = latest !== null && latest.timeUs > this.#times.at(-1)!.timeUs;
    return isLater ? [...this.#times, latest] : this.#times;
  }

  #push(time: MapTime): void {
    const last = this.#times.at(-1);
    if (last !== undefined && last.sizeBytes === time.sizeBytes && last.timeUs >= time.timeUs) return;
    this.#times.push(time);
    if (this.#times.length > MOST_TIMES) this.#times = this.#times.filter((_, row) => row % 2 === 0);
  }
}
