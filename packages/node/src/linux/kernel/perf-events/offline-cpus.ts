import { onlineCpus } from '../target/index.ts';
import type { Note } from './notes.ts';

/** How often recorders look. */
export const OFFLINE_LOOK_MS = 1000;

/**
 * A CPU that goes offline takes its events with it, for good: what they had is kept, and that the rest is
 * missing is told.
 */
export class OfflineCpus {
  readonly #cpus: readonly number[];
  readonly #notes: Note[];
  readonly #what: 'counts' | 'samples';
  readonly #gone = new Set<number>();

  constructor(cpus: readonly number[], notes: Note[], what: 'counts' | 'samples') {
    this.#cpus = [...new Set(cpus)].filter((cpu) => cpu >= 0);
    this.#notes = notes;
    this.#what = what;
  }

  /** True where there is a new note. */
  look(): boolean {
    if (this.#cpus.length === 0) return false;
    const online = new Set(onlineCpus());
    const gone = this.#cpus.filter((cpu) => !online.has(cpu) && !this.#gone.has(cpu));
    for (const cpu of gone) {
      this.#gone.add(cpu);
      const again = this.#what === 'counts' ? 'count it' : 'record it';
      const text = `CPU ${cpu} went offline: its ${this.#what} end there, even if it comes back (start again to ${again})`;
      this.#notes.push({ kind: 'cpu-gone', text });
    }
    return gone.length > 0;
  }
}
