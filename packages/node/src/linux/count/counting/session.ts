import { CounterpointError, optional } from '@counterpoint/core/base';
import { checkMade } from '../../../host/options/index.ts';
import { type Note, OfflineCpus } from '../../kernel/perf-events/index.ts';
import type { Fd, Sys } from '../../kernel/sys/index.ts';
import type { Overflow, OverflowLoss, OverflowWatch } from '../overflows/overflow-watch.ts';
import { SessionOverflows } from '../overflows/session-overflows.ts';
import { Publication, type Publishable, type PublishOptions } from '../published/publish.ts';
import { requireRoom } from '../published/sums-page.ts';
import { requireControl, requireSameWay } from '../requests/check-request.ts';
import { controlData } from '../requests/control-data.ts';
import type { ControlData, ControlOptions } from '../requests/control-data-types.ts';
import { cpusOf } from '../requests/places.ts';
import { waysOf } from '../requests/request.ts';
import type { ControlRequest } from '../requests/request-types.ts';
import type { SwitchRule } from '../requests/switching.ts';
import type { CountedEvent, CountingTarget, Counts } from '../requests/types.ts';
import { type RealCounter, realCounters } from '../sets/counter-plan.ts';
import type { Counter, OpenSet } from '../sets/counter-set.ts';
import type { UnsupportedFacts } from '../sets/reasons.ts';
import { requireEventNames } from './event-names.ts';
import { LateSwitches } from './late-switches.ts';
import { type CountingContext, SetState, shareEvent } from './set-state.ts';
import type { ToolTimes } from './tool-events.ts';

const CLOCK_MONOTONIC = 1;
const CLOCK_THREAD_CPUTIME_ID = 3;
const LEAST_SLICE_NS = 20_000_000n;

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
  /**
   * Open the sets of a control update, for the same target; the exec that is still to come loads the first.
   */
  reopen: (control: ControlRequest, awaitsExec: boolean) => OpenSet[];
}

/** A control update that is ready: one of the two is called, once. */
export interface PreparedUpdate {
  /** Makes the update. It opens nothing any more, so it does not fail for want of counters. */
  make(): void;
  /** Drops the update, and closes what was opened for it. */
  drop(): void;
}

/**
 * A handle on the counting of a target. It holds one or more event sets. While it
 * runs, exactly one set is loaded.
 *
 *   open ── start ──┬── read, next(set), reset, update ──┬── stop ── start … ── close
 *                   └────────────────────────────────────┘
 *
 * The session owns every descriptor. Sums are 64 bits wide and begin at zero when the session is opened.
 */
export class CountingSession implements Disposable, Publishable {
  /** Whose events are counted, as it was requested. */
  readonly target: CountingTarget;
  /** What was done otherwise than requested, and why. */
  readonly notes: Note[];
  readonly #sys: Sys;
  readonly #facts: UnsupportedFacts;
  readonly #owned: readonly (Fd | null)[];
  readonly #tools: ToolTimes;
  /** The exec of the target's command loads the first set, and had not done so when that was last asked. */
  #awaitsExec: boolean;
  /** `start` leaves the loading to the exec. */
  #enableOnExec: boolean;
  #sets: SetState[];
  #active = 0;
  #isRunning = false;
  #isClosed = false;
  /** When the active set was loaded, while running. */
  #loadedAtNs = 0n;
  #elapsedNs = 0n;
  #sliceEndedAtNs = 0n;
  /** What of it was before the last reset of all. */
  #elapsedBaseNs = 0n;
  #switches = 0;
  #blindNs = 0n;
  /** For how long of it the target may have run. */
  #unseenNs = 0n;
  readonly #offlineCpus: OfflineCpus;
  readonly #lateSwitches: LateSwitches;
  readonly #overflows: SessionOverflows;
  #isSuspended = false;
  readonly #reopen: SessionParts['reopen'];
  #control: ControlRequest & ControlOptions;
  readonly #publications = new Set<Publication>();
  #switching: SwitchRule;
  #timer: NodeJS.Timeout | null = null;

  /** @internal */
  constructor(parts: SessionParts) {
    checkMade(
      parts,
      'reopen',
      'a CountingSession',
      "const session = openCounting({ target: { kind: 'self' }, events });",
    );
    this.target = parts.target;
    this.notes = parts.notes;
    this.#sys = parts.sys;
    this.#facts = parts.facts;
    this.#owned = parts.owned;
    this.#enableOnExec = parts.enableOnExec;
    this.#awaitsExec = parts.enableOnExec;
    this.#tools = { sys: parts.sys, startChildren: parts.sys.childrenTimes() };
    this.#sets = parts.sets.map((set) => new SetState(set, this.#context([])));
    this.#reopen = parts.reopen;
    this.#switching = parts.switching;
    this.#shareSwitchEvent();
    this.#control = parts.control;
    this.#offlineCpus = new OfflineCpus(cpusOf(parts.target), parts.notes, 'counts');
    this.#lateSwitches = new LateSwitches(parts.notes);
    this.#overflows = new SessionOverflows(parts.sys, parts.sets, {
      suspend: (set, counter) => this.#suspend(set, counter),
      told: ({ event }, set) => this.#switchAt(event, set),
    });
    if (this.#enableOnExec) this.#sets[0]!.set.arm();
  }

  /** The names of the event sets, in the order in which they are loaded. */
  get setNames(): string[] {
    return this.#sets.map(({ set }) => set.name);
  }

  /** Name of the set that is loaded, or will be. */
  get activeSet(): string {
    return this.#sets[this.#active]!.set.name;
  }

  /** Whether `close()` was called. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the session is started. It is while an overflow has it suspended, too. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /**
   * The number of switches between sets so far, and the total time in nanoseconds in which no set
   * was loaded because of them.
   */
  get switching(): { switches: number; blindNs: bigint } {
    return { switches: this.#switches, blindNs: this.#blindNs };
  }

  /** The hardware counters that the loaded set uses, asked of the kernel now. */
  realCounters(): RealCounter[] {
    this.#requireOpen();
    return realCounters(this.#sys, this.#sets[this.#active]!.set);
  }

  /**
   * The open counters, set by set. Not in the order of the counts: see `countedEvents`.
   *
   * @internal
   */
  get openSets(): readonly OpenSet[] {
    return this.#sets.map(({ set }) => set);
  }

  /** The open events of each set, in the order of the counts. */
  get countedEvents(): readonly (readonly CountedEvent[])[] {
    return this.#sets.map(({ reported }) => reported);
  }

  /**
   * Load the active set. If a held command was not released yet, its exec loads the set, at the first
   * instruction of the program; `start` then only begins the session's own time.
   */
  start(): void {
    this.#requireOpen();
    if (this.#isRunning) return;
    const state = this.#sets[this.#active]!;
    if (!this.#enableOnExec) {
      state.set.enable();
      state.set.settle();
    }
    this.#enableOnExec = false;
    this.#overflows.rearm();
    this.#isRunning = true;
    this.#isSuspended = false;
    state.timesLoaded++;
    this.#loadedAtNs = this.#now();
    if (this.#switching.by === 'time' && this.#sets.length > 1)
      this.#timer = setInterval(() => this.next(), this.#switching.sliceMs);
  }

  /**
   * Unload the active set. Sums stay. If the exec of a held command is still to come, it
   * will not start the counting.
   */
  stop(): void {
    if (!this.#isRunning || this.#isClosed) return;
    this.#unload();
    this.#keepFromExec();
  }

  /**
   * The exec starts counters that wait for it, also those that were disabled meanwhile;
   * nothing but closing them helps.
   */
  #keepFromExec(): void {
    this.#askForExec();
    if (!this.#awaitsExec) return;
    const before = this.#sets;
    const context = this.#context(before);
    let opened: OpenSet[];
    try {
      opened = this.#reopen(this.#control, false);
    } catch (error) {
      // The target has ended: there is no exec to come.
      if (!(error instanceof CounterpointError) || error.code !== 'ERR_NO_PROCESS') throw error;
      this.#awaitsExec = false;
      return;
    }
    try {
      this.#overflows.replaceBy(this.#overflows.watch(opened));
    } catch (error) {
      for (const set of opened) set.close();
      throw error;
    }
    this.#awaitsExec = false;
    this.#sets = opened.map((set) => new SetState(set, context));
    this.#shareSwitchEvent();
    this.#sets.forEach((state, index) => {
      const old = before[index]!;
      state.carryOver(old, () => true, context);
      Object.assign(state, { timesLoaded: old.timesLoaded, loadedNs: old.loadedNs });
      old.set.close();
    });
  }

  #unload(): void {
    if (!this.#isRunning) return;
    const state = this.#sets[this.#active]!;
    this.#stopTimer();
    state.set.disable();
    this.#unloaded(state, this.#now());
    state.set.settle();
    this.#isRunning = false;
    state.read();
    state.endSlice();
    if (this.#switching.by === 'overflow') this.#noteLateSwitches(this.#switching.event);
  }

  #shareSwitchEvent(): void {
    if (this.#switching.by === 'overflow') shareEvent(this.#sets, this.#switching.event);
  }

  #noteLateSwitches(event: string): void {
    if (this.#sets.length < 2) return;
    this.#overflows.drain();
    this.#lateSwitches.tell(event, this.#switches);
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Load another set: the set with this name or index, or by default the set after the active one. */
  next(wanted?: string | number): void {
    this.#requireOpen();
    const index = this.#indexOf(wanted ?? (this.#active + 1) % this.#sets.length);
    if (index === this.#active) return;
    const before = this.#sets[this.#active]!;
    const after = this.#sets[index]!;
    this.#active = index;
    if (!this.#isRunning) return;
    // Reading comes after the switch: nothing but the two calls stands between the sets.
    const ranFrom = this.#ranNs();
    const from = this.#now();
    before.set.disable();
    after.set.enable();
    const to = this.#now();
    this.#unseenNs += (this.#ranNs() ?? to) - (ranFrom ?? from);
    before.set.settle();
    after.set.settle();
    this.#unloaded(before, from);
    this.#loadedAtNs = to;
    after.timesLoaded++;
    this.#switches++;
    this.#blindNs += to - from;
    before.read();
    before.endSlice();
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

  /** The sums of all sets. */
  read(): Counts {
    this.#requireOpen();
    this.#bringUp();
    this.#offlineCpus.look();
    const context = this.#context(this.#sets);
    return {
      type: 'counts',
      version: 1,
      timeNs: this.#now(),
      elapsedNs: this.#elapsedNs - this.#elapsedBaseNs,
      sets: this.#sets.map((state) => state.counts(context)),
    };
  }

  /** Bring sums and times up to now. */
  #bringUp(): void {
    const active = this.#sets[this.#active]!;
    const now = this.#now();
    if (this.#isRunning) this.#unloaded(active, now);
    active.read();
    // Sets end their slices when they are unloaded. Where there is one, the kernel alone takes
    // turns, much faster than this.
    if (this.#sets.length > 1 || now - this.#sliceEndedAtNs < LEAST_SLICE_NS) return;
    active.endSlice();
    this.#sliceEndedAtNs = now;
  }

  #context(sets: readonly SetState[]): CountingContext {
    const wantedNs = sets.length === 1 ? null : sets.reduce((sum, { enabledNs }) => sum + enabledNs, 0n);
    return {
      facts: this.#facts,
      tools: this.#tools,
      elapsedNs: this.#elapsedNs,
      blindNs: this.#unseenNs,
      wantedNs,
    };
  }

  /**
   * Overflows as they happen, of the events that request them, until the target has ended or the session is
   * closed. A bounded queue holds what the consumer has not taken yet. Overflows beyond the bound are dropped
   * and counted in `overflowLoss`.
   */
  overflows(): AsyncIterable<Overflow> {
    this.#requireOpen();
    return this.#overflows.listen();
  }

  /** Overflows since the session was opened that no consumer will see. */
  get overflowLoss(): OverflowLoss & { dropped: number } {
    if (!this.#isClosed) for (const { set } of this.#sets) set.read();
    return this.#overflows.loss;
  }

  /** True if an overflow has stopped the counting and `resume` was not called yet. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Continue, with the restart period, after an overflow that suspended the counting. */
  resume(): void {
    this.#requireOpen();
    if (!this.#isSuspended) return;
    this.start();
  }

  /** One that was still under way when its set was unloaded is not for the next set. */
  #switchAt(event: string, set: OpenSet): void {
    if (this.#switching.by !== 'overflow' || event !== this.#switching.event) return;
    if (this.#isRunning && set === this.#sets[this.#active]!.set) this.next();
    else this.#lateSwitches.add();
  }

  /** The kernel has stopped the event and the group that it leads; here the rest of the set follows. */
  #suspend(set: OpenSet, counter: Counter): void {
    set.markSuspended(counter);
    if (!this.#isRunning || set !== this.#sets[this.#active]!.set) return;
    this.stop();
    this.#isSuspended = true;
  }

  /** The requested event names of all sets. */
  get eventNames(): string[] {
    return this.#sets.flatMap(({ set }) => set.events.map(({ requestedName }) => requestedName));
  }

  /** Set sums to zero: all sums, or those of the named events. */
  reset(wanted?: readonly string[] | 'all'): void {
    this.#requireOpen();
    requireEventNames(wanted, this.eventNames);
    const names = wanted === 'all' ? undefined : wanted;
    // Those of before are told with the counts of before.
    this.#overflows.drain();
    this.#bringUp();
    const context = this.#context(this.#sets);
    for (const state of this.#sets) {
      state.reset((name) => names === undefined || names.includes(name), context);
      // The one that is loaded goes on with this turn.
      const turns = this.#isRunning && state === this.#sets[this.#active] ? 1 : 0;
      if (names === undefined) Object.assign(state, { timesLoaded: turns, loadedNs: 0n });
    }
    if (names === undefined) this.#elapsedBaseNs = this.#elapsedNs;
  }

  /**
   * Count other events of the same target. The sums of events named in `preserve` continue if the new control
   * has these events too, in the set of the same name. (If there was only one set and its name is gone, they
   * continue in any set.) All other sums begin at zero. A name that neither control has is refused. After an
   * error everything is as before.
   */
  update(control: ControlRequest, preserve: readonly string[] | 'all' = []): void {
    this.prepareUpdate(control, preserve).make();
  }

  /**
   * The first half of `update`: opens what the control needs, and changes nothing yet. Use it to
   * update several sessions together.
   */
  prepareUpdate(control: ControlRequest, preserve: readonly string[] | 'all' = []): PreparedUpdate {
    this.#requireOpen();
    requireControl('update()', control);
    requireSameWay(control, waysOf({ target: this.target, ...this.#control }));
    // Target and options stay as they were opened.
    const { events, sets, overflows, switching, madeOf } = control;
    const what: ControlRequest = optional({ events, sets, overflows, switching, madeOf });
    this.#askForExec();
    const opened = this.#reopen(what, this.#awaitsExec);
    const drop = () => {
      for (const set of opened) set.close();
    };
    try {
      const names = opened.flatMap(({ events }) => events.map(({ requestedName }) => requestedName));
      requireEventNames(preserve, [...this.eventNames, ...names]);
      if (this.#publications.size > 0) requireRoom(opened);
      const watch = this.#overflows.watch(opened);
      return {
        make: () => this.#replace(what, preserve, opened, watch),
        drop: () => {
          watch.close();
          drop();
        },
      };
    } catch (error) {
      drop();
      throw error;
    }
  }

  #replace(
    what: ControlRequest,
    preserve: readonly string[] | 'all',
    opened: readonly OpenSet[],
    watch: OverflowWatch,
  ): void {
    const wasRunning = this.#isRunning;
    if (this.#awaitsExec) opened[0]!.arm();
    this.#unload();
    this.#bringUp();
    // It may have come since: then it has loaded the old set, or both.
    this.#askForExec();
    this.#enableOnExec = this.#awaitsExec;
    const before = this.#sets;
    const context = this.#context(before);
    this.#overflows.replaceBy(watch);
    this.#sets = opened.map((set) => new SetState(set, context));
    this.#active = 0;
    this.#lateSwitches.reset();
    this.#switching = what.switching ?? { by: 'manual' };
    const { events: _, sets: __, overflows: ___, switching: ____, madeOf: _____, ...how } = this.#control;
    this.#control = { ...how, ...what };
    const isKept = opened.some(({ name }) => name === before[0]!.set.name);
    const only = before.length === 1 && !isKept ? before[0] : undefined;
    const isPreserved = (name: string) => preserve === 'all' || preserve.includes(name);
    for (const state of this.#sets) {
      const old = before.find(({ set }) => set.name === state.set.name) ?? only;
      if (old !== undefined) state.carryOver(old, isPreserved, context);
    }
    this.#shareSwitchEvent();
    for (const { set } of before) set.close();
    if (wasRunning) this.start();
  }

  /** The exec is over once its target has run with the first set. */
  #askForExec(): void {
    if (!this.#awaitsExec) return;
    const { set } = this.#sets[0]!;
    set.read();
    this.#awaitsExec = !set.hasBegun;
  }

  /** What the session counts, as data to be saved. `controlRequest` makes a request from it. */
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

  /**
   * Closes all counters and ends publications. Closing twice does nothing; every other method throws
   * ERR_CLOSED then.
   */
  close(): void {
    if (this.#isClosed) return;
    for (const publication of this.#publications) publication.close();
    try {
      // What was due until now is told, or is a loss.
      if (this.#overflows.isWatching) {
        this.#unload();
        this.#overflows.drain();
      }
    } finally {
      this.#isClosed = true;
      this.#isRunning = false;
      this.#stopTimer();
      this.#overflows.close();
      for (const { set } of this.#sets) set.close();
      for (const fd of this.#owned) fd?.close();
    }
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * What the target itself has run, where that is the calling thread: while sets are
   * switched it may have to wait.
   */
  #ranNs(): bigint | null {
    return this.target.kind === 'self' ? this.#sys.clockNs(CLOCK_THREAD_CPUTIME_ID) : null;
  }

  #now(): bigint {
    return this.#sys.clockNs(CLOCK_MONOTONIC);
  }

  #requireOpen(): void {
    if (this.#isClosed)
      throw new CounterpointError('ERR_CLOSED', 'this counting session is closed', 'Open another one.');
  }
}
