import type { PerfRecord } from '@counterpoint/core/records';

/**
 * Records of processes and maps from the rings of all CPUs, put in order of time. A pass takes the heads of
 * all rings before anything else, so what a later pass finds is not older than the newest of the pass before:
 *
 *   pass 1   5 3 | 4 9     mark: 9
 *   pass 2   10 | 11 8     release: 3 4 5 8 9; 10 and 11 wait for the next time
 */
export class SidebandQueue {
  #held: { timeNs: bigint; record: PerfRecord }[] = [];
  #newestNs = 0n;

  add(record: PerfRecord): void {
    const timeNs = record.sampleId?.time ?? this.#newestNs;
    if (timeNs > this.#newestNs) this.#newestNs = timeNs;
    this.#held.push({ timeNs, record });
  }

  /** To be given to `release` after one more pass. */
  mark(): bigint {
    return this.#newestNs;
  }

  /** All records up to a mark, oldest first. */
  release(mark: bigint): PerfRecord[] {
    const ready = this.#held.filter(({ timeNs }) => timeNs <= mark);
    if (ready.length === 0) return [];
    this.#held = this.#held.filter(({ timeNs }) => timeNs > mark);
    ready.sort((a, b) => (a.timeNs < b.timeNs ? -1 : a.timeNs > b.timeNs ? 1 : 0));
    return ready.map(({ record }) => record);
  }
}
