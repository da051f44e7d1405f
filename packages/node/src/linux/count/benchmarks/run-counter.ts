import { type Counters, counters } from '../self-monitoring/index.ts';
import { openFirst } from '../self-monitoring/open-first.ts';

/** What is counted where nothing is asked for: the first list that this machine has. */
const DEFAULT_EVENTS: readonly (readonly string[])[] = [
  [
    'instructions',
    'cycles',
    'branch-misses',
    'cache-misses',
    'task-clock',
    'page-faults',
    'context-switches',
  ],
  ['task-clock', 'page-faults', 'context-switches'],
];
const CALIBRATIONS = 64;

/** Sums of events over stretches of a run. */
export interface RunTotals {
  readonly counts: Float64Array;
  /** CPU time of the thread meanwhile, and how much of it each event was on a counter. */
  readonly enabledNs: Float64Array;
  readonly runningNs: Float64Array;
}

/** Counters of this thread that can be started and stopped again and again. */
export class RunCounter {
  readonly notes: string[] = [];
  readonly names: readonly string[];
  readonly #counters: Counters;
  /** Time, values, enabled, running. */
  readonly #before: Float64Array;
  readonly #after: Float64Array;
  /** What starting and stopping counts. */
  readonly #overhead: Float64Array;
  #totals: RunTotals;

  constructor(events: string | readonly string[] | undefined) {
    this.#counters =
      events === undefined ? openFirst(DEFAULT_EVENTS, (text) => this.notes.push(text)) : counters(events);
    this.notes.push(...this.#counters.notes.map(({ text }) => text));
    this.names = this.#counters.events.map(({ requestedName }) => requestedName);
    this.#before = new Float64Array(1 + 3 * this.names.length);
    this.#after = new Float64Array(1 + 3 * this.names.length);
    this.#overhead = new Float64Array(this.names.length);
    this.#totals = this.#none();
    this.#calibrate();
  }

  /** Begins with nothing. */
  reset(): void {
    this.#totals = this.#none();
  }

  start(): void {
    this.#counters.readInto(this.#before);
  }

  /** Adds what was counted since `start()`. */
  stop(): void {
    this.#counters.readInto(this.#after);
    const count = this.names.length;
    for (let i = 0; i < count; i++) {
      const [value, enabled, running] = [1 + i, 1 + count + i, 1 + 2 * count + i];
      this.#totals.counts[i]! += Math.max(0, this.#difference(value) - this.#overhead[i]!);
      this.#totals.enabledNs[i]! += this.#difference(enabled);
      this.#totals.runningNs[i]! += this.#difference(running);
    }
  }

  /** All since `reset()`, each for `calls` calls: of one of them. */
  perCall(calls: number): (number | null)[] {
    const { counts, enabledNs, runningNs } = this.#totals;
    return this.names.map((_, i) => {
      const [enabled, running] = [enabledNs[i]!, runningNs[i]!];
      // A clock that has not moved is not one that was without a counter.
      if (running === 0 && enabled > 0) return null;
      const share = running < enabled ? enabled / running : 1;
      return (counts[i]! * share) / calls;
    });
  }

  close(): void {
    this.#counters.close();
  }

  #calibrate(): void {
    const least = new Float64Array(this.names.length).fill(Number.POSITIVE_INFINITY);
    for (let round = 0; round < CALIBRATIONS; round++) {
      this.reset();
      this.start();
      this.stop();
      for (let i = 0; i < least.length; i++) least[i] = Math.min(least[i]!, this.#totals.counts[i]!);
    }
    this.#overhead.set(least);
    this.reset();
  }

  #difference(word: number): number {
    return this.#after[word]! - this.#before[word]!;
  }

  #none(): RunTotals {
    const zeros = () => new Float64Array(this.names.length);
    return { counts: zeros(), enabledNs: zeros(), runningNs: zeros() };
  }
}
