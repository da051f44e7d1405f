import type { RecordedEvent } from '@counterpoint/core/perfdata';

/** Which event a PEBS record in the trace is of. */
export interface PebsTarget {
  readonly event: RecordedEvent;
  /** Of the counter. */
  readonly id: number;
}

/** Numbers of counters have six bits: records name them by a mask. */
const MOST_COUNTERS = 64;

/**
 * The events whose PEBS records go into the trace (`attr.aux_output`). Where there are several,
 * the kernel tells which counter each has on a CPU (PERF_RECORD_AUX_OUTPUT_HW_ID), and records
 * say which counters they are of.
 */
export class PebsEvents {
  /** Records that named no counter that is known, where there are several events: counted to the first. */
  unknown = 0;
  readonly #first: PebsTarget | null = null;
  readonly #isSingle: boolean;

  constructor(events: readonly RecordedEvent[]) {
    const through = events.filter(({ attr, ids }) => attr.flags.auxOutput !== 0 && ids.length > 0);
    const [first] = through;
    if (first !== undefined) this.#first = { event: first, id: first.ids[0]! };
    this.#isSingle = through.length === 1;
  }

  get isEmpty(): boolean {
    return this.#first === null;
  }

  /** The targets of one record, by the mask of its counters in halves. */
  targetsOf(counters: PebsCounters, maskLo: number, maskHi: number): PebsTarget[] {
    const first = this.#first;
    if (first === null) return [];
    const targets: PebsTarget[] = [];
    for (let counter = 0; counter < MOST_COUNTERS; counter++) {
      const half = counter < 32 ? maskLo : maskHi;
      if (((half >>> (counter & 31)) & 1) === 0) continue;
      const target = counters.get(counter);
      if (target === undefined) {
        if (!this.#isSingle) this.unknown++;
        targets.push(first);
        return targets;
      }
      targets.push(target);
    }
    if (targets.length > 0) return targets;
    if (!this.#isSingle) this.unknown++;
    return [first];
  }
}

/** By number: who has the counter, in one queue of the trace. */
export type PebsCounters = Map<number, PebsTarget>;
