import type { Note } from '../perf-events/index.ts';
import { onlineCpus } from '../target/index.ts';

/**
 * A CPU that goes offline takes its counters with it, for good: what they had
 * is kept, and the rest is told.
 */
export class OfflineCpus {
  readonly #cpus: readonly number[];
  readonly #notes: Note[];
  readonly #gone = new Set<number>();

  constructor(cpus: readonly number[], notes: Note[]) {
    this.#cpus = cpus;
    this.#notes = notes;
  }

  look(): void {
    if (this.#cpus.length === 0) return;
    const online = new Set(onlineCpus());
    for (const cpu of this.#cpus) {
      if (online.has(cpu) || this.#gone.has(cpu)) continue;
      this.#gone.add(cpu);
      const text = `CPU ${cpu} went offline: its counts end there, even if it comes back (start again to count it)`;
      this.#notes.push({ kind: 'cpu-gone', text });
    }
  }
}
