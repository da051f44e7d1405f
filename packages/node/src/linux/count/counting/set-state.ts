import type {
  CountedEvent,
  CountStatus,
  EventCount,
  PlaceCount,
  Reading,
  SetCounts,
} from '../requests/types.ts';
import type { OpenSet } from '../sets/counter-set.ts';
import { addReading, emptyReading, knownValues, subtractReading } from '../sets/reading.ts';
import { type UnsupportedFacts, whyNotCounted } from '../sets/reasons.ts';
import { SliceStatistics } from './slices.ts';
import { type ToolTimes, toolReading } from './tool-events.ts';

/** What the counts of a set depend on besides the set. */
export interface CountingContext {
  facts: UnsupportedFacts;
  tools: ToolTimes;
  /** Time with the session started, ever. */
  elapsedNs: bigint;
  /** For how long, in that time, none was loaded because sets were switched, and the target may have run. */
  blindNs: bigint;
  /** The kernel's time during which any set of the session was wanted, ever; null where there is one set. */
  wantedNs: bigint | null;
}

/**
 * The event whose overflow ends each set. All sets have it, so it is counted whenever one of them is loaded:
 * its parts are added up, not scaled, and the first set alone reports it.
 */
interface SharedEvent {
  /** Its index in this set. */
  event: number;
  parts: readonly { state: SetState; event: number }[];
}

/** Take the event of this name as one of all sets; where it is not in each of them, it stays as it is. */
export function shareEvent(states: readonly SetState[], requestedName: string): void {
  const parts = states.map((state) => ({
    state,
    event: state.set.events.findIndex((event) => event.requestedName === requestedName),
  }));
  if (states.length < 2 || parts.some(({ event }) => event < 0)) return;
  for (const { state, event } of parts) state.share({ event, parts });
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
  readonly #blindBase: bigint[];
  readonly #toolBase: Reading[];
  #shared: SharedEvent | null = null;

  constructor(set: OpenSet, context: CountingContext) {
    this.set = set;
    this.#wantedBase = set.events.map(() => 0n);
    this.#blindBase = set.events.map(() => context.blindNs);
    this.#toolBase = set.events.map((_, event) => this.#measured(event, context));
    this.#carried = set.events.map(emptyReading);
    this.#statistics = set.events.map(() => new SliceStatistics());
    this.#sliceBase = set.events.map(emptyReading);
    this.#enabledBefore = set.events.map(() => 0n);
  }

  share(shared: SharedEvent): void {
    const [first] = shared.parts;
    this.#shared = shared;
    this.#statistics[shared.event] = first!.state.#statistics[first!.event]!;
  }

  /** The events that this set reports, in the order of its counts. */
  get reported(): CountedEvent[] {
    return this.set.events.filter((_, event) => !this.#isReportedElsewhere(event));
  }

  #isReportedElsewhere(event: number): boolean {
    return this.#shared !== null && event === this.#shared.event && this.#shared.parts[0]!.state !== this;
  }

  /** The sets that count an event, with its index in each. */
  #partsOf(event: number): readonly { state: SetState; event: number }[] {
    return event === this.#shared?.event ? this.#shared.parts : [{ state: this, event }];
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
   * After a reading: what was counted since the last slice is a sample of the events' rates. Not at each
   * reading: parts of one slice have much in common, and would look like more knowledge than there is.
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
      this.#blindBase[event] = context.blindNs;
      this.#toolBase[event] = this.#measured(event, context);
    });
  }

  /** Go on with the sums that events of the same names have in another set. */
  carryOver(old: SetState, isPreserved: (requestedName: string) => boolean, context: CountingContext): void {
    this.set.events.forEach(({ requestedName }, event) => {
      if (!isPreserved(requestedName)) return;
      const at = old.set.events.findIndex((candidate) => candidate.requestedName === requestedName);
      if (at < 0 || old.#isReportedElsewhere(at)) return;
      this.#carried[event] = old.#total(at, context);
      this.#statistics[event] = old.#statistics[at]!;
      this.#blindBase[event] = old.#blindBase[at]!;
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
    const parts = this.#partsOf(event);
    const sum = emptyReading();
    if (tool === null) for (const part of parts) addReading(sum, part.state.set.sum(part.event));
    else addReading(sum, subtractReading(this.#measured(event, context), this.#toolBase[event]!));
    // Where sets take turns, an event was wanted while one or another of them was loaded.
    if (tool === null && wantedNs !== null && parts.length === 1)
      sum.enabledNs = maxOf(sum.enabledNs, wantedNs - this.#wantedBase[event]!);
    addReading(sum, this.#carried[event]!);
    return sum;
  }

  counts(context: CountingContext): SetCounts {
    const { set, timesLoaded, loadedNs } = this;
    const indices = set.events.flatMap((_, event) => (this.#isReportedElsewhere(event) ? [] : [event]));
    const events = indices.map((event) => {
      const count = this.#eventCount(event, context);
      const leader = count.leader === null ? -1 : indices.indexOf(count.leader);
      return { ...count, leader: leader < 0 ? null : leader };
    });
    return { name: set.name, timesLoaded, loadedNs, events };
  }

  #eventCount(index: number, context: CountingContext): EventCount {
    const { set } = this;
    const hadTurn = context.wantedNs === null || this.timesLoaded > 0;
    const { name, requestedName, unit, scale, leader } = set.events[index]!;
    const why = set.unsupported[index] ?? null;
    const sum = this.#total(index, context);
    const isRefused = set.isRefused(index);
    const neverWanted = hadTurn ? set.sum(index).enabledNs === 0n : sum.enabledNs === 0n;
    const couldNotRun = neverWanted && !isRefused;
    const status: CountStatus =
      why !== null ? 'not-supported' : sum.runningNs === 0n || isRefused ? 'not-counted' : 'counted';
    return {
      name,
      requestedName,
      status,
      reason:
        status === 'not-counted'
          ? whyNotCounted(set.events, index, set.sum(index), isRefused, context.facts, hadTurn)
          : why,
      ...sum,
      ...knownValues(status, sum, couldNotRun),
      errorBound:
        status === 'counted'
          ? this.#statistics[index]!.errorBound(sum, this.#unseenNs(index, context))
          : null,
      unit,
      scale,
      leader,
      places: this.#places(index),
    };
  }

  /**
   * For how long, by the kernel's time, an event went uncounted while sets were switched: at most, for its
   * tasks may have slept. Where the target runs on several CPUs at a time, that passed on each.
   */
  #unseenNs(event: number, { blindNs, wantedNs, elapsedNs }: CountingContext): number {
    const unseenNs = Number(blindNs - this.#blindBase[event]!);
    if (unseenNs === 0 || elapsedNs === 0n) return 0;
    return unseenNs * Math.max(1, Number(wantedNs ?? 0n) / Number(elapsedNs));
  }

  #places(event: number): PlaceCount[] {
    const parts = this.#partsOf(event);
    if (parts.length === 1) return this.set.places(event);
    const merged = new Map<string, PlaceCount>();
    for (const part of parts) {
      for (const place of part.state.set.places(part.event)) {
        const key = `${place.task} ${place.cpu}`;
        const sum = merged.get(key);
        if (sum === undefined) merged.set(key, place);
        else addReading(sum, place);
      }
    }
    return [...merged.values()];
  }
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
