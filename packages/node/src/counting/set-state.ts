import type { OpenSet } from './counter-set.ts';
import { addReading, emptyReading, scaledValue, subtractReading } from './reading.ts';
import { type UnsupportedFacts, whyNotCounted } from './reasons.ts';
import { SliceStatistics } from './slices.ts';
import { type ToolTimes, toolReading } from './tool-events.ts';
import type { CountStatus, EventCount, Reading, SetCounts } from './types.ts';

/** What the counts of a set depend on besides the set. */
export interface CountingContext {
  facts: UnsupportedFacts;
  tools: ToolTimes;
  /** Time with the session started. */
  elapsedNs: bigint;
  /** The kernel's time during which any set of the session was wanted; null where there is one set. */
  wantedNs: bigint | null;
}

/** An event set of a session, and what was found out about it over time. */
export class SetState {
  readonly set: OpenSet;
  timesLoaded = 0;
  loadedNs = 0n;
  /** By event: sums from before the last control update that were to be preserved. */
  readonly #carried: Reading[];
  readonly #statistics: SliceStatistics[];
  /** Sums when the current slice began. */
  readonly #sliceBase: Reading[];

  constructor(set: OpenSet) {
    this.set = set;
    this.#carried = set.events.map(emptyReading);
    this.#statistics = set.events.map(() => new SliceStatistics());
    this.#sliceBase = set.events.map(emptyReading);
  }

  /** Read the counters: what they counted since they were loaded or last read is a sample of their events' rates. */
  endSlice(): void {
    this.set.read();
    this.set.events.forEach((_, event) => {
      const sum = this.set.sum(event);
      this.#statistics[event]!.add(subtractReading(sum, this.#sliceBase[event]!));
      this.#sliceBase[event] = sum;
    });
  }

  /** For how long, by the kernel's time, the set was wanted. */
  enabledNs(): bigint {
    let most = 0n;
    this.set.events.forEach((_, event) => {
      most = maxOf(most, this.set.sum(event).enabledNs);
    });
    return most;
  }

  /** Let the sums of events begin again at zero. */
  reset(isReset: (requestedName: string) => boolean): void {
    this.set.read();
    this.set.events.forEach(({ requestedName }, event) => {
      if (!isReset(requestedName)) return;
      this.set.rebase(event);
      this.#carried[event] = emptyReading();
      this.#sliceBase[event] = emptyReading();
      this.#statistics[event]!.reset();
    });
  }

  /** Go on with the sums that events of the same names have in another set. */
  carryOver(old: SetState, isPreserved: (requestedName: string) => boolean): void {
    this.set.events.forEach(({ requestedName }, event) => {
      if (!isPreserved(requestedName)) return;
      const at = old.set.events.findIndex((candidate) => candidate.requestedName === requestedName);
      if (at >= 0) this.#carried[event] = old.#total(at);
    });
  }

  #total(event: number): Reading {
    const sum = this.set.sum(event);
    addReading(sum, this.#carried[event]!);
    return sum;
  }

  counts(context: CountingContext): SetCounts {
    const { set, timesLoaded, loadedNs } = this;
    const events = set.events.map((_, event) => this.#eventCount(event, context));
    return { name: set.name, timesLoaded, loadedNs, events };
  }

  #eventCount(index: number, { facts, tools, elapsedNs, wantedNs }: CountingContext): EventCount {
    const { set } = this;
    const { name, requestedName, unit, scale, leader, tool } = set.events[index]!;
    const why = set.unsupported[index] ?? null;
    const sum = tool === null ? this.#total(index) : toolReading(tool, tools, elapsedNs);
    const isRefused = set.isRefused(index);
    const status: CountStatus =
      why !== null ? 'not-supported' : sum.runningNs === 0n || isRefused ? 'not-counted' : 'counted';
    // Where sets take turns, an event was wanted while one or another of them was loaded.
    const overall =
      wantedNs === null || tool !== null ? sum : { ...sum, enabledNs: maxOf(sum.enabledNs, wantedNs) };
    return {
      name,
      requestedName,
      status,
      reason: status === 'not-counted' ? whyNotCounted(set.events, index, sum, isRefused, facts) : why,
      ...overall,
      scaled: scaledValue(overall),
      errorBound: status === 'counted' ? this.#statistics[index]!.errorBound(overall) : null,
      unit,
      scale,
      leader,
      places: set.places(index),
    };
  }
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
