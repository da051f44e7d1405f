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
  /** Time with the session started, ever. */
  elapsedNs: bigint;
  /** The kernel's time during which any set of the session was wanted, ever; null where there is one set. */
  wantedNs: bigint | null;
}

/** An event set of a session, and what was found out about it over time. */
export class SetState {
  readonly set: OpenSet;
  timesLoaded = 0;
  loadedNs = 0n;
  /** For how long, by the kernel's time, the set was wanted since it was opened. Resets leave it. */
  enabledNs = 0n;
  /** By event: sums from before the last control update that were to be preserved. */
  readonly #carried: Reading[];
  readonly #statistics: SliceStatistics[];
  /** Sums when the current slice began. */
  readonly #sliceBase: Reading[];
  /** By event: enabled time at the last reading. */
  readonly #enabledBefore: bigint[];
  /** By event: the time that any set was wanted, and what the tool had measured, when its sum began. */
  readonly #wantedBase: bigint[];
  readonly #toolBase: Reading[];

  constructor(set: OpenSet, context: CountingContext) {
    this.set = set;
    this.#wantedBase = set.events.map(() => 0n);
    this.#toolBase = set.events.map((_, event) => this.#measured(event, context));
    this.#carried = set.events.map(emptyReading);
    this.#statistics = set.events.map(() => new SliceStatistics());
    this.#sliceBase = set.events.map(emptyReading);
    this.#enabledBefore = set.events.map(() => 0n);
  }

  /** Bring sums and times up to now. */
  read(): void {
    this.set.read();
    let longest = 0n;
    this.set.events.forEach((_, event) => {
      const { enabledNs } = this.set.sum(event);
      longest = maxOf(longest, enabledNs - this.#enabledBefore[event]!);
      this.#enabledBefore[event] = enabledNs;
    });
    this.enabledNs += longest;
  }

  /**
   * After a reading: what was counted since the last slice is a sample of the events' rates. Not at each reading: parts of one
   * slice have much in common, and would look like more knowledge than there is.
   */
  endSlice(): void {
    this.set.events.forEach((_, event) => {
      const sum = this.set.sum(event);
      this.#statistics[event]!.add(subtractReading(sum, this.#sliceBase[event]!));
      this.#sliceBase[event] = sum;
    });
  }

  /** Let the sums of events begin again at zero. The slice has ended before. */
  reset(isReset: (requestedName: string) => boolean, context: CountingContext): void {
    this.set.events.forEach(({ requestedName }, event) => {
      if (!isReset(requestedName)) return;
      this.set.rebase(event);
      this.#carried[event] = emptyReading();
      this.#sliceBase[event] = emptyReading();
      this.#enabledBefore[event] = 0n;
      this.#statistics[event]!.reset();
      this.#wantedBase[event] = context.wantedNs ?? 0n;
      this.#toolBase[event] = this.#measured(event, context);
    });
  }

  /** Go on with the sums that events of the same names have in another set. */
  carryOver(old: SetState, isPreserved: (requestedName: string) => boolean, context: CountingContext): void {
    this.set.events.forEach(({ requestedName }, event) => {
      if (!isPreserved(requestedName)) return;
      const at = old.set.events.findIndex((candidate) => candidate.requestedName === requestedName);
      if (at < 0) return;
      this.#carried[event] = old.#total(at, context);
      this.#statistics[event] = old.#statistics[at]!;
    });
  }

  /** What the tool measured of its own event, ever; nothing for the kernel's. */
  #measured(event: number, { tools, elapsedNs }: CountingContext): Reading {
    const { tool } = this.set.events[event]!;
    return tool === null ? emptyReading() : toolReading(tool, tools, elapsedNs);
  }

  /** The sum of an event, with the time that it was wanted as its enabled time. */
  #total(event: number, context: CountingContext): Reading {
    const { wantedNs } = context;
    const { tool } = this.set.events[event]!;
    const sum =
      tool === null
        ? this.set.sum(event)
        : subtractReading(this.#measured(event, context), this.#toolBase[event]!);
    // Where sets take turns, an event was wanted while one or another of them was loaded.
    if (tool === null && wantedNs !== null)
      sum.enabledNs = maxOf(sum.enabledNs, wantedNs - this.#wantedBase[event]!);
    addReading(sum, this.#carried[event]!);
    return sum;
  }

  counts(context: CountingContext): SetCounts {
    const { set, timesLoaded, loadedNs } = this;
    const events = set.events.map((_, event) => this.#eventCount(event, context));
    return { name: set.name, timesLoaded, loadedNs, events };
  }

  #eventCount(index: number, context: CountingContext): EventCount {
    const { set } = this;
    const { name, requestedName, unit, scale, leader } = set.events[index]!;
    const why = set.unsupported[index] ?? null;
    const sum = this.#total(index, context);
    const isRefused = set.isRefused(index);
    const status: CountStatus =
      why !== null ? 'not-supported' : sum.runningNs === 0n || isRefused ? 'not-counted' : 'counted';
    return {
      name,
      requestedName,
      status,
      reason:
        status === 'not-counted'
          ? whyNotCounted(set.events, index, set.sum(index), isRefused, context.facts)
          : why,
      ...sum,
      scaled: scaledValue(sum),
      errorBound: status === 'counted' ? this.#statistics[index]!.errorBound(sum) : null,
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
