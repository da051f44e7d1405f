import { CounterpointError } from '@counterpoint/core/base';
import type { Note } from '../session/index.ts';
import type { Fd, Sys } from '../sys/index.ts';
import { type ControlData, type ControlOptions, controlData } from './control-data.ts';
import { type RealCounter, realCounters } from './counter-plan.ts';
import type { Counter, OpenSet } from './counter-set.ts';
import { OverflowQueue } from './overflow-queue.ts';
import { type Overflow, type OverflowLoss, OverflowWatch } from './overflow-watch.ts';
import { Publication, type Publishable, type PublishOptions } from './publish.ts';
import { addReading, emptyReading, scaledValue, subtractReading } from './reading.ts';
import { type UnsupportedFacts, whyNotCounted } from './reasons.ts';
import type { ControlRequest } from './request.ts';
import { SliceStatistics } from './slices.ts';
import type { SwitchRule } from './switching.ts';
import { type ToolTimes, toolReading } from './tool-events.ts';
import type { CountingTarget, CountStatus, Counts, EventCount, Reading, SetCounts } from './types.ts';

const CLOCK_MONOTONIC = 1;
const MOST_WAITING_OVERFLOWS = 65_536;

/** A set of the session and what was found out about it over time. */
interface SetState {
  set: OpenSet;
  timesLoaded: number;
  loadedNs: bigint;
  /** By event: sums from before the last control update that were to be preserved. */
  carried: Reading[];
  statistics: SliceStatistics[];
  /** Sums when the current slice began. */
  sliceBase: Reading[];
}

export interface SessionParts {
  sys: Sys;
  target: CountingTarget;
  sets: readonly OpenSet[];
  notes: Note[];
  facts: UnsupportedFacts;
  /** The exec of the target's command loads the first set. */
  enableOnExec: boolean;
  /** Descriptors that live as long as the session. */
  owned: readonly (Fd | null)[];
  switching: SwitchRule;
  /** What `sets` were made of. */
  control: ControlRequest & ControlOptions;
  /** Open the sets of a control update, for the same target. */
  reopen: (control: ControlRequest) => OpenSet[];
}

/**
 * A handle on the counting of a target. It holds one or more event sets; while it runs exactly one of them is loaded.
 *
 *   open ── start ──┬── read, next(set), reset, update ──┬── stop ── start … ── close
 *                   └────────────────────────────────────┘
 *
 * It owns every descriptor. Sums are 64 bits wide and begin at zero when it is opened.
 */
export class CountingSession implements Disposable, Publishable {
  readonly target: CountingTarget;
  readonly notes: Note[];
  readonly #sys: Sys;
  readonly #facts: UnsupportedFacts;
  readonly #owned: readonly (Fd | null)[];
  readonly #tools: ToolTimes;
  #enableOnExec: boolean;
  #sets: SetState[];
  #active = 0;
  #isRunning = false;
  #isClosed = false;
  /** When the active set was loaded, while running. */
  #loadedAtNs = 0n;
  #elapsedNs = 0n;
  #switches = 0;
  #blindNs = 0n;
  #watch: OverflowWatch | null = null;
  readonly #queues = new Set<OverflowQueue<Overflow>>();
  #isSuspended = false;
  readonly #reopen: SessionParts['reopen'];
  #control: ControlRequest & ControlOptions;
  readonly #publications = new Set<Publication>();
  #switching: SwitchRule;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: SessionParts) {
    this.target = parts.target;
    this.notes = parts.notes;
    this.#sys = parts.sys;
    this.#facts = parts.facts;
    this.#owned = parts.owned;
    this.#enableOnExec = parts.enableOnExec;
    this.#sets = parts.sets.map(stateOf);
    this.#tools = { sys: parts.sys, startChildren: parts.sys.childrenTimes() };
    this.#reopen = parts.reopen;
    this.#switching = parts.switching;
    this.#control = parts.control;
    this.#watch = this.#watchOverflows();
    if (this.#enableOnExec) this.#sets[0]!.set.arm();
  }

  get setNames(): string[] {
    return this.#sets.map(({ set }) => set.name);
  }

  /** Name of the set that is loaded, or will be. */
  get activeSet(): string {
    return this.#sets[this.#active]!.set.name;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Switches between sets so far, and how long altogether none was loaded because of them. */
  get switching(): { switches: number; blindNs: bigint } {
    return { switches: this.#switches, blindNs: this.#blindNs };
  }

  /** Which hardware counters the loaded set is on, asked of the kernel now. */
  realCounters(): RealCounter[] {
    this.#requireOpen();
    return realCounters(this.#sys, this.#sets[this.#active]!.set);
  }

  /** The open counters, set by set: for what stands on them (overflow, mapped pages). */
  get openSets(): readonly OpenSet[] {
    return this.#sets.map(({ set }) => set);
  }

  /**
   * Load the active set. For a held command that has not been released yet, its exec does so, at the first instruction of
   * the program; then this only begins the session's own time.
   */
  start(): void {
    this.#requireOpen();
    if (this.#isRunning) return;
    const state = this.#sets[this.#active]!;
    if (!this.#enableOnExec) state.set.enable();
    this.#enableOnExec = false;
    this.#isRunning = true;
    this.#isSuspended = false;
    state.timesLoaded++;
    this.#loadedAtNs = this.#now();
    if (this.#switching.by === 'time' && this.#sets.length > 1)
      this.#timer = setInterval(() => this.next(), this.#switching.sliceMs);
  }

  /** Unload the active set; sums stay. */
  stop(): void {
    if (!this.#isRunning || this.#isClosed) return;
    const state = this.#sets[this.#active]!;
    this.#stopTimer();
    state.set.disable();
    this.#unloaded(state, this.#now());
    this.#isRunning = false;
    this.#endSlice(state);
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Load another set: the one of this name or index, or the one after the active one. */
  next(wanted?: string | number): void {
    this.#requireOpen();
    const index = this.#indexOf(wanted ?? (this.#active + 1) % this.#sets.length);
    if (index === this.#active) return;
    const before = this.#sets[this.#active]!;
    const after = this.#sets[index]!;
    this.#active = index;
    if (!this.#isRunning) return;
    // Reading comes after the switch: nothing but the two calls stands between the sets.
    const from = this.#now();
    before.set.disable();
    after.set.enable();
    const to = this.#now();
    this.#unloaded(before, from);
    this.#loadedAtNs = to;
    after.timesLoaded++;
    this.#switches++;
    this.#blindNs += to - from;
    this.#endSlice(before);
  }

  #indexOf(wanted: string | number): number {
    const index = typeof wanted === 'number' ? wanted : this.setNames.indexOf(wanted);
    if (this.#sets[index] !== undefined) return index;
    throw new CounterpointError(
      'ERR_NO_EVENT_SET',
      `there is no event set ${wanted}`,
      `The sets are ${this.setNames.join('; ')}.`,
    );
  }

  #unloaded(state: SetState, now: bigint): void {
    state.loadedNs += now - this.#loadedAtNs;
    this.#elapsedNs += now - this.#loadedAtNs;
    this.#loadedAtNs = now;
  }

  /** Note what the set counted since it was loaded or last read: a sample of its events' rates. */
  #endSlice(state: SetState): void {
    state.set.read();
    state.set.events.forEach((_, event) => {
      const sum = state.set.sum(event);
      state.statistics[event]!.add(subtractReading(sum, state.sliceBase[event]!));
      state.sliceBase[event] = sum;
    });
  }

  /** The sums of all sets. */
  read(): Counts {
    this.#requireOpen();
    const active = this.#sets[this.#active]!;
    if (this.#isRunning) this.#unloaded(active, this.#now());
    this.#endSlice(active);
    const wanted = this.#enabledPerPlace();
    return {
      type: 'counts',
      version: 1,
      timeNs: this.#now(),
      elapsedNs: this.#elapsedNs,
      sets: this.#sets.map((state) => this.#setCounts(state, wanted)),
    };
  }

  #setCounts(state: SetState, wantedNs: bigint | null): SetCounts {
    const { set, timesLoaded, loadedNs } = state;
    const events = set.events.map((_, event) => this.#eventCount(state, event, wantedNs));
    return { name: set.name, timesLoaded, loadedNs, events };
  }

  #eventCount(state: SetState, index: number, wantedNs: bigint | null): EventCount {
    const { set } = state;
    const event = set.events[index]!;
    const { name, requestedName, unit, scale, leader, tool } = event;
    const why = set.unsupported[index] ?? null;
    const sum = tool === null ? set.sum(index) : toolReading(tool, this.#tools, this.#elapsedNs);
    addReading(sum, state.carried[index]!);
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
      reason: status === 'not-counted' ? whyNotCounted(set.events, index, sum, isRefused, this.#facts) : why,
      ...overall,
      scaled: scaledValue(overall),
      errorBound: status === 'counted' ? state.statistics[index]!.errorBound(overall) : null,
      unit,
      scale,
      leader,
      places: set.places(index),
    };
  }

  /**
   * The kernel's time during which events of the target were wanted, over all sets: the sum of each set's enabled time.
   * Null with one set, where every event knows its own.
   */
  #enabledPerPlace(): bigint | null {
    if (this.#sets.length === 1) return null;
    let total = 0n;
    for (const { set } of this.#sets) {
      let most = 0n;
      set.events.forEach((_, event) => {
        most = maxOf(most, set.sum(event).enabledNs);
      });
      total += most;
    }
    return total;
  }

  /**
   * Overflows of the events that ask for them, as they happen, until the session is closed. What a consumer leaves lying is
   * kept up to a bound, and dropped and counted beyond it.
   */
  overflows(): AsyncIterable<Overflow> {
    this.#requireOpen();
    const queue = new OverflowQueue<Overflow>(MOST_WAITING_OVERFLOWS, () => this.#queues.delete(queue));
    this.#queues.add(queue);
    return queue;
  }

  /** Overflows that nobody will see. */
  get overflowLoss(): OverflowLoss & { dropped: number } {
    let dropped = 0;
    for (const queue of this.#queues) dropped += queue.dropped;
    return { ...(this.#watch?.loss ?? { lost: 0n, throttled: 0 }), dropped };
  }

  /** An overflow has stopped the counting, and `resume` was not called yet. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Go on after an overflow that suspended, with the restart period. */
  resume(): void {
    this.#requireOpen();
    if (!this.#isSuspended) return;
    this.start();
    this.#watch?.rearm();
  }

  #watchOverflows(): OverflowWatch {
    return new OverflowWatch(this.#sys, this.openSets, (overflow, set, event, counter) => {
      const { initialPeriod, restartPeriod, action } = set.events[event]!.overflow!;
      if (restartPeriod !== initialPeriod && counter.overflowAt === null)
        this.#sys.setPeriod(counter.fd, restartPeriod);
      if (action === 'suspend') this.#suspend(set, counter);
      for (const queue of this.#queues) queue.push(overflow);
      // One that was still under way when its set was unloaded is not for the next set.
      const isDue = this.#switching.by === 'overflow' && overflow.event === this.#switching.event;
      if (isDue && this.#isRunning && set === this.#sets[this.#active]!.set) this.next();
    });
  }

  /** The kernel has stopped the event and the group that it leads; here the rest of the set follows. */
  #suspend(set: OpenSet, counter: Counter): void {
    set.markSuspended(counter);
    if (!this.#isRunning || set !== this.#sets[this.#active]!.set) return;
    this.stop();
    this.#isSuspended = true;
  }

  /** Let sums begin again at zero: all, or those of the events of these names. */
  reset(names?: readonly string[]): void {
    this.#requireOpen();
    for (const state of this.#sets) {
      state.set.read();
      state.set.events.forEach(({ requestedName }, event) => {
        if (names !== undefined && !names.includes(requestedName)) return;
        state.set.rebase(event);
        state.carried[event] = emptyReading();
        state.sliceBase[event] = emptyReading();
        state.statistics[event]!.reset();
      });
      if (names === undefined) Object.assign(state, { timesLoaded: 0, loadedNs: 0n });
    }
    if (names === undefined) this.#elapsedNs = 0n;
    if (this.#isRunning) this.#loadedAtNs = this.#now();
  }

  /**
   * Count something else, of the same target. Sums of the events named in `preserve` go on where the new control has them, too
   * (in the set of the same name, or in the only one); all others begin at zero. On an error everything stays as it was.
   */
  update(control: ControlRequest, preserve: readonly string[] | 'all' = []): void {
    this.#requireOpen();
    const wasRunning = this.#isRunning;
    const opened = this.#reopen(control);
    this.stop();
    const before = this.#sets;
    for (const state of before) state.set.read();
    this.#watch?.close();
    this.#sets = opened.map(stateOf);
    this.#active = 0;
    this.#switching = control.switching ?? { by: 'manual' };
    const { inherit, levels, pinned, exclusive } = this.#control;
    this.#control = {
      ...(inherit === undefined ? {} : { inherit }),
      ...(levels === undefined ? {} : { levels }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(exclusive === undefined ? {} : { exclusive }),
      ...control,
    };
    for (const state of this.#sets) carryOver(before, state, preserve);
    for (const { set } of before) set.close();
    this.#watch = this.#watchOverflows();
    if (wasRunning) this.start();
  }

  /** What is counted, to be saved: `controlRequest` makes a request of it. */
  control(): ControlData {
    return controlData(this.#control);
  }

  /** Let other processes of this user read the sums and control the session: see `connect`. */
  async publish(options: PublishOptions = {}): Promise<Publication> {
    this.#requireOpen();
    const publication = await Publication.open(this.#sys, this, options);
    this.#publications.add(publication);
    return publication;
  }

  close(): void {
    if (this.#isClosed) return;
    for (const publication of this.#publications) publication.close();
    this.#isClosed = true;
    this.#isRunning = false;
    this.#stopTimer();
    this.#watch?.close();
    for (const queue of this.#queues) queue.end();
    for (const { set } of this.#sets) set.close();
    for (const fd of this.#owned) fd?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #now(): bigint {
    return this.#sys.clockNs(CLOCK_MONOTONIC);
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new CounterpointError('ERR_CLOSED', 'this counting session is closed');
  }
}

function stateOf(set: OpenSet): SetState {
  return {
    set,
    timesLoaded: 0,
    loadedNs: 0n,
    carried: set.events.map(emptyReading),
    statistics: set.events.map(() => new SliceStatistics()),
    sliceBase: set.events.map(emptyReading),
  };
}

function carryOver(before: readonly SetState[], state: SetState, preserve: readonly string[] | 'all'): void {
  const old =
    before.find(({ set }) => set.name === state.set.name) ?? (before.length === 1 ? before[0] : undefined);
  if (old === undefined) return;
  state.set.events.forEach(({ requestedName }, event) => {
    if (preserve !== 'all' && !preserve.includes(requestedName)) return;
    const at = old.set.events.findIndex((candidate) => candidate.requestedName === requestedName);
    if (at < 0) return;
    const sum = old.set.sum(at);
    addReading(sum, old.carried[at]!);
    state.carried[event] = sum;
  });
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
