import type { MapTime } from '@counterpoint/core/jit';

/** Beyond this every other time is left out: of a long recording they are known less exactly. */
const MOST_TIMES = 1 << 16;

/** When a map had which size. */
export class MapTimesLog {
  #times: MapTime[] = [];
  #latest: MapTime | null = null;

  /** At `timeNs` the map was `sizeBytes` long. Times ascend. */
  add(timeNs: bigint, sizeBytes: number): void {
    const latest = this.#latest;
    // The last time at which it had a size is the one that counts: what came then came later.
    if (latest !== null && latest.sizeBytes < sizeBytes) {
      this.#times.push(latest);
      if (this.#times.length > MOST_TIMES) this.#times = this.#times.filter((_, row) => row % 2 === 0);
    }
    if (latest === null || latest.sizeBytes <= sizeBytes)
      this.#latest = { timeUs: Number(timeNs / 1000n), sizeBytes };
  }

  list(): MapTime[] {
    return this.#latest === null ? this.#times : [...this.#times, this.#latest];
  }
}
