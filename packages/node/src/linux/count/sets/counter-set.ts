import { PERF_FORMAT_GROUP } from '@counterpoint/core/abi';
import { FamilySwitch } from '../../kernel/perf-events/index.ts';
import type { Fd, Sys } from '../../kernel/sys/index.ts';
import type { CountedEvent, CountingRow, PlaceCount, PlannedSet, Reading } from '../requests/types.ts';
import { addReading, emptyReading, subtractReading } from './reading.ts';

/** A counter that is open: an event for one task on one CPU. */
export interface Counter {
  fd: Fd;
  row: CountingRow;
  /** What it had counted when its sum was last reset. */
  base: Reading;
  /** The last reading, since `base`. */
  now: Reading;
  /** The reading before that. */
  before: Reading;
  /** The kernel gave nothing: a pinned event that found no counter. */
  isRefused: boolean;
  /** What `base.value` was before the last reset: overflows from before it may still be under way. */
  baseBefore: bigint;
  /** The kernel's count at the last overflow, whatever was reset; null before the first. */
  overflowAt: bigint | null;
  /** From then to the next. */
  period: bigint;
}

/**
 * One read(2): of a counter, or of a whole group by its leader.
 *
 *   alone:  value  enabled  running
 *   group:  n  enabled  running  (value id) * n      leader first, members in the order in which they were opened
 */
interface ReadUnit {
  fd: Fd;
  isGroup: boolean;
  words: BigUint64Array;
  bytes: Uint8Array;
  members: Counter[];
}

/**
 * A task whose event is opened on each CPU. While it runs on one of them its event is enabled there, and now
 * and then on others, too (Linux 6.18): adding that up would make the time longer than it was. It is at least
 * the longest of one CPU, and at least what it ran on all; where events do not share counters, exactly that.
 */
interface TaskTimes {
  longestNs: bigint;
  runningNs: bigint;
}

const CLOCK_MONOTONIC = 1;

/**
 * How long the set has been loaded since the last reading: no counter can have been enabled for
 * longer. Control groups need it. The kernel times them from when each was last timed on a CPU, and
 * for the first event there that is any time ago, since the system's start for a new group (Linux
 * 6.18; `perf stat -G /` prints it, too).
 */
class LoadedTime {
  readonly #sys: Sys;
  #fromNs = 0n;
  /** Null while it is loaded. */
  #untilNs: bigint | null = 0n;

  constructor(sys: Sys) {
    this.#sys = sys;
  }

  begin(): void {
    this.#fromNs = this.#sys.clockNs(CLOCK_MONOTONIC);
    this.#untilNs = null;
  }

  end(): void {
    this.#untilNs ??= this.#sys.clockNs(CLOCK_MONOTONIC);
  }

  /** Since it was last taken. */
  take(): bigint {
    const toNs = this.#untilNs ?? this.#sys.clockNs(CLOCK_MONOTONIC);
    const loadedNs = toNs - this.#fromNs;
    this.#fromNs = toNs;
    return loadedNs;
  }
}

/** The open counters of an event set. */
export class OpenSet {
  readonly name: string;
  readonly events: readonly CountedEvent[];
  /** By event; null where it is supported. */
  readonly unsupported: readonly (string | null)[];
  /** By event. */
  readonly counters: readonly (readonly Counter[])[];
  readonly #sys: Sys;
  readonly #units: ReadUnit[] = [];
  readonly #leaders: Fd[] = [];
  /** What children inherit. */
  readonly #inherited = new Set<Fd>();
  /** Of that, what was switched by us (an exec does it, too): whether it is to count. */
  readonly #switched = new Map<Fd, boolean>();
  readonly #familySwitch = new FamilySwitch();
  readonly #suspending = new Set<Fd>();
  /** Of those, the ones without an overflow left. */
  readonly #spent = new Set<Fd>();
  /** Of a control group. */
  readonly #loaded: LoadedTime | null;

  constructor(
    sys: Sys,
    set: PlannedSet,
    fds: readonly (Fd | null)[],
    unsupported: readonly (string | null)[],
    isOfCgroup = false,
  ) {
    this.#sys = sys;
    this.#loaded = isOfCgroup ? new LoadedTime(sys) : null;
    this.name = set.name;
    this.events = set.events;
    this.unsupported = unsupported;
    const counters: Counter[][] = set.events.map(() => []);
    const units = new Map<number, ReadUnit>();
    set.rows.forEach((row, at) => {
      const fd = fds[at]!;
      if (fd === null) return;
      // One of a whole CPU has no children.
      if (set.events[row.event]!.attr.flags.inherit === 1 && row.task >= 0) this.#inherited.add(fd);
      const counter: Counter = {
        fd,
        row,
        base: emptyReading(),
        baseBefore: 0n,
        now: emptyReading(),
        before: emptyReading(),
        isRefused: false,
        overflowAt: null,
        period: set.events[row.event]!.overflow?.initialPeriod ?? 0n,
      };
      counters[row.event]!.push(counter);
      if (set.events[row.event]!.overflow?.action === 'suspend') {
        this.#suspending.add(fd);
        this.#spent.add(fd);
      }
      if (row.leader !== null) {
        units.get(row.leader)!.members.push(counter);
        return;
      }
      this.#leaders.push(fd);
      const isGroup = (Number(set.events[row.event]!.attr.readFormat) & PERF_FORMAT_GROUP) !== 0;
      units.set(at, {
        fd,
        isGroup,
        words: new BigUint64Array(),
        bytes: new Uint8Array(),
        members: [counter],
      });
    });
    for (const unit of units.values()) {
      unit.words = new BigUint64Array(unit.isGroup ? 3 + 2 * unit.members.length : 3);
      unit.bytes = new Uint8Array(unit.words.buffer);
      this.#units.push(unit);
    }
    this.counters = counters;
  }

  /** Load it: counters run from here on, those that suspend up to their next overflow. Then `settle`. */
  enable(): void {
    this.#loaded?.begin();
    for (const fd of this.#leaders) if (!this.#suspending.has(fd)) this.#switch(fd, true);
    for (const fd of this.#suspending) this.#startSuspending(fd);
  }

  /**
   * Make ready for a start by exec: counters that suspend must know their limit before. The exec enables
   * leaders; a member waits for its leader, and would stay off if it were disabled itself.
   */
  arm(): void {
    for (const fd of this.#suspending) this.#startSuspending(fd);
    for (const fd of this.#leaders) if (this.#suspending.has(fd)) this.#sys.disable(fd);
  }

  /**
   * REFRESH adds to the number of overflows that are left and enables: at 0 the kernel disables the event.
   * One that was unloaded before its overflow still has its one.
   */
  #startSuspending(fd: Fd): void {
    if (this.#spent.delete(fd)) this.#sys.refresh(fd, 1);
    else this.#sys.enable(fd);
  }

  /** The kernel has disabled this counter at its overflow. */
  markSuspended(counter: Counter): void {
    this.#spent.add(counter.fd);
  }

  /** Unload it. Then `settle`. */
  disable(): void {
    for (const fd of this.#leaders) this.#switch(fd, false);
    this.#loaded?.end();
  }

  /**
   * For children that were just being forked. It loses no time between two sets,
   * because both have been switched.
   */
  settle(): void {
    if (this.#switched.size === 0) return;
    this.#familySwitch.repeat(() => {
      for (const [fd, isOn] of this.#switched) this.#switch(fd, isOn);
    });
  }

  #switch(fd: Fd, isOn: boolean): void {
    if (this.#inherited.has(fd)) this.#switched.set(fd, isOn);
    if (isOn) this.#sys.enable(fd);
    else this.#sys.disable(fd);
  }

  /** One event alone, while the others stay as they are. */
  switchEvent(event: number, isOn: boolean): void {
    for (const { fd } of this.counters[event]!) this.#switch(fd, isOn);
    this.settle();
  }

  /** As last read: it has been loaded, by whomever, and its target has run since. */
  get hasBegun(): boolean {
    return this.counters.some((counters) =>
      counters.some(({ now, base }) => base.enabledNs + now.enabledNs > 0n),
    );
  }

  /** Bring `now` of every counter up to date. */
  read(): void {
    for (const unit of this.#units) this.#readUnit(unit);
    const mostNs = this.#loaded?.take();
    if (mostNs === undefined) return;
    for (const counters of this.counters) for (const counter of counters) limitTimes(counter, mostNs);
  }

  #readUnit({ fd, isGroup, words, bytes, members }: ReadUnit): void {
    const got = this.#sys.read(fd, bytes);
    if (got === 0) {
      for (const counter of members) counter.isRefused = true;
      return;
    }
    members.forEach((counter, at) => {
      const value = isGroup ? words[3 + 2 * at]! : words[0]!;
      counter.isRefused = false;
      counter.before = counter.now;
      counter.now = subtractReading({ value, enabledNs: words[1]!, runningNs: words[2]! }, counter.base);
    });
  }

  /** Sum of an event over its places, as last read. */
  sum(event: number): Reading {
    const total = emptyReading();
    let tasks: Map<number, TaskTimes> | null = null;
    for (const { now, row } of this.counters[event]!) {
      addReading(total, now);
      if (row.task < 0 || row.cpu < 0) continue;
      total.enabledNs -= now.enabledNs;
      tasks ??= new Map();
      const times = tasks.get(row.task) ?? { longestNs: 0n, runningNs: 0n };
      times.runningNs += now.runningNs;
      if (now.enabledNs > times.longestNs) times.longestNs = now.enabledNs;
      tasks.set(row.task, times);
    }
    if (tasks === null) return total;
    for (const { longestNs, runningNs } of tasks.values()) {
      total.enabledNs += longestNs;
      if (runningNs > longestNs) total.enabledNs += runningNs - longestNs;
    }
    return total;
  }

  places(event: number): PlaceCount[] {
    return this.counters[event]!.map(({ row, now }) => ({ task: row.task, cpu: row.cpu, ...now }));
  }

  isRefused(event: number): boolean {
    const counters = this.counters[event]!;
    return counters.length > 0 && counters.every((counter) => counter.isRefused);
  }

  /**
   * Let the sum of an event begin again at what was last read. A baseline, because RESET leaves the times and
   * the counts of children that have ended (Linux 6.18).
   */
  rebase(event: number): void {
    for (const counter of this.counters[event]!) {
      counter.baseBefore = counter.base.value;
      addReading(counter.base, counter.now);
      counter.now = emptyReading();
      counter.before = emptyReading();
    }
  }

  close(): void {
    this.#familySwitch.stop();
    for (const counters of this.counters) for (const { fd } of counters) fd.close();
  }
}

/** Take the time beyond `mostNs` since the reading before out of this one and of all that come. */
function limitTimes({ before, now, base }: Counter, mostNs: bigint): void {
  const enabledNs = least(now.enabledNs - before.enabledNs, mostNs);
  const runningNs = least(now.runningNs - before.runningNs, enabledNs);
  base.enabledNs += now.enabledNs - before.enabledNs - enabledNs;
  base.runningNs += now.runningNs - before.runningNs - runningNs;
  now.enabledNs = before.enabledNs + enabledNs;
  now.runningNs = before.runningNs + runningNs;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
