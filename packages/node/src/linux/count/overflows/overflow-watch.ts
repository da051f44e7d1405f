import {
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_COUNT_SW_TASK_CLOCK,
  PERF_RECORD_LOST,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  decodeRecord,
  type LostRecord,
  type PerfEventAttr,
  type Sample,
  SampleLayout,
} from '@counterpoint/core/records';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import { explainMmapError } from '../../kernel/perf-events/index.ts';
import { type Fd, type Mapping, type Sys, SysError, type Watch } from '../../kernel/sys/index.ts';
import { requireThread } from '../../kernel/target/index.ts';
import type { CountedEvent } from '../requests/types.ts';
import type { Counter, OpenSet } from '../sets/counter-set.ts';

/** One overflow, as the kernel saw it. */
export interface Overflow {
  /** The event, by the name with which it was requested. */
  event: string;
  /** The name of its event set. */
  set: string;
  /**
   * What the event had counted since it was opened (a control update opens it anew) or last
   * reset; of an overflow from before a reset, up to that. Null where it follows children: then
   * only the periods are known.
   */
  count: bigint | null;
  /**
   * The other events of its group at the same moment, counted likewise; empty where
   * only the periods are known.
   */
  group: { event: string; count: bigint }[];
  /** After how many counts it was due: the initial period or the restart period. */
  period: bigint;
  /** Clock of the kernel's records (sched_clock unless the event chose another). */
  timeNs: bigint;
  /** The thread that ran when it overflowed. */
  tid: number;
  /** The CPU on which it overflowed. */
  cpu: number;
}

/**
 * What went missing between the kernel and us. With what was told, it adds up to what was due,
 * where the kernel counts the event itself (software events but the clocks, tracepoints,
 * breakpoints) and it does not follow children.
 */
export interface OverflowLoss {
  /**
   * Overflows that found their ring full. The kernel tells of them together with the next one that has room;
   * before that, they are known by the count alone, which is not exact enough for hardware counters and
   * clocks, and not there for children's.
   */
  lost: bigint;
  /**
   * How often the kernel held an event back because it overflowed too fast. Hardware
   * counters do not count meanwhile.
   */
  throttled: number;
}

/** Where an overflow goes: with the index of the event in its set. */
export type OverflowListener = (overflow: Overflow, set: OpenSet, event: number, counter: Counter) => void;

interface WatchedCounter {
  counter: Counter;
  event: number;
  set: OpenSet;
  mapping: Mapping;
  ring: ForwardRing;
  layout: SampleLayout;
  /** Taken out of the waiting because it hung up: its task has ended, or it has no overflow left. */
  isOut: boolean;
  /** The kernel has stopped it at its overflow, and it was not started again. */
  hasSuspended: boolean;
  /** Its task has ended, and the children of that: nothing comes any more. */
  hasEnded: boolean;
}

/** Data pages of a ring: 4 KiB hold about 50 overflows, and every user may lock that much. */
const DATA_PAGES = 1;

/**
 * Brings overflows out of the kernel: each counter that asks for them has a small ring, all rings wait behind
 * one descriptor in the event loop.
 */
export class OverflowWatch implements Disposable {
  readonly #loss: OverflowLoss = { lost: 0n, throttled: 0 };
  readonly #sys: Sys;
  readonly #onOverflow: OverflowListener;
  /** The target has ended, and all is told. */
  readonly #onEnd: () => void;
  readonly #watched: WatchedCounter[] = [];
  #epoll: Fd | null = null;
  #watch: Watch | null = null;

  constructor(sys: Sys, sets: readonly OpenSet[], onOverflow: OverflowListener, onEnd: () => void) {
    this.#sys = sys;
    this.#onOverflow = onOverflow;
    this.#onEnd = onEnd;
    try {
      for (const set of sets) this.#watchSet(set);
      this.#wait();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #watchSet(set: OpenSet): void {
    set.events.forEach(({ overflow, attr }, event) => {
      if (overflow?.signal != null) this.#sendSignals(set, event, overflow.signal);
      // Where a signal tells of it, what is to be done about it has to be known nevertheless.
      const needsNothing =
        overflow?.signal != null &&
        overflow.action === 'notify' &&
        overflow.initialPeriod === overflow.restartPeriod;
      if (overflow === null || needsNothing) return;
      const layout = new SampleLayout(attr);
      for (const counter of set.counters[event]!) {
        const page = this.#sys.pageSizeBytes();
        const mapping = this.#mapRing(counter.fd, page * (1 + DATA_PAGES));
        const ring = new ForwardRing(mappedRing(mapping.buffer, page));
        this.#watched.push({
          counter,
          event,
          set,
          mapping,
          ring,
          layout,
          isOut: false,
          hasSuspended: false,
          hasEnded: false,
        });
      }
    });
  }

  #mapRing(fd: Fd, sizeBytes: number): Mapping {
    try {
      return this.#sys.mmap(fd, sizeBytes);
    } catch (error) {
      if (!(error instanceof SysError)) throw error;
      throw explainMmapError(error, 'overflows', 'ask for overflows of fewer events, threads or CPUs');
    }
  }

  #sendSignals(set: OpenSet, event: number, { number, tid }: { number: number; tid: number }): void {
    requireReceiver(tid);
    for (const { fd } of set.counters[event]!) this.#sys.signalThread(fd, tid, number);
  }

  #wait(): void {
    if (this.#watched.length === 0) return;
    const epoll = this.#sys.epollCreate();
    this.#epoll = epoll;
    for (const { counter } of this.#watched) this.#sys.epollAdd(epoll, counter.fd);
    this.#watch = this.#sys.watch(epoll, () => this.#onReady(epoll));
    this.#drainSoon();
  }

  /**
   * A hang-up that no suspension explains is the end of the task: the kernel's POLLHUP of
   * an event in its exit state.
   */
  #onReady(epoll: Fd): void {
    const hungUp: WatchedCounter[] = [];
    for (const { number, hasHungUp } of this.#sys.epollPoll(epoll)) {
      if (!hasHungUp) continue;
      const ended = this.#watched.find(({ counter }) => counter.fd.number === number);
      if (ended === undefined || ended.isOut) continue;
      this.#sys.epollRemove(epoll, ended.counter.fd);
      ended.isOut = true;
      hungUp.push(ended);
    }
    this.drain();
    for (const watched of hungUp) watched.hasEnded = !watched.hasSuspended;
    if (this.#watched.length > 0 && this.#watched.every(({ hasEnded }) => hasEnded)) {
      this.#watch?.close();
      this.#watch = null;
      this.#onEnd();
    }
  }

  /** Counters that had suspended themselves go on: wait for them again. */
  rearm(): void {
    const out = this.#watched.filter(({ isOut, hasEnded }) => isOut && !hasEnded);
    for (const watched of this.#watched) watched.hasSuspended = false;
    for (const watched of out) {
      this.#sys.epollAdd(this.#epoll!, watched.counter.fd);
      watched.isOut = false;
    }
    if (out.length > 0) this.#drainSoon();
  }

  /**
   * Asking a ring whether there is something answers yes only once, and the loop asks twice when it begins
   * to wait: what comes before that is not announced. It begins in this or in the next turn, so after the
   * next one all of it is here.
   */
  #drainSoon(): void {
    setImmediate(() => {
      this.drain();
      setImmediate(() => this.drain());
    });
  }

  /** Hand out what the rings hold now. */
  drain(): void {
    for (const watched of this.#watched) this.#drainRing(watched);
  }

  #drainRing(watched: WatchedCounter): void {
    const { counter, event, set, ring, layout } = watched;
    if (ring.take() === 0) return;
    const found: Sample[] = [];
    const scan = new RecordScan(
      [PERF_RECORD_SAMPLE, PERF_RECORD_LOST, PERF_RECORD_THROTTLE],
      (type, view, at, size) => {
        const record = decodeRecord(view, at, size, layout);
        if (type === PERF_RECORD_LOST) this.#loss.lost += (record as LostRecord).lost;
        else if (type === PERF_RECORD_THROTTLE) this.#loss.throttled++;
        else if ('sample' in record) found.push(record.sample);
      },
    );
    scan.scan(ring.memory.data, ring.tail, ring.head);
    // Before anybody is told: a listener may resume the event, or close everything.
    ring.commit();
    const { requestedName, overflow } = set.events[event]!;
    if (found.length > 0 && overflow!.action === 'suspend') watched.hasSuspended = true;
    for (const sample of found) {
      const { period } = counter;
      const members = groupOf(set, event, counter);
      const value = sample.read?.values[members.findIndex((member) => member.counter === counter)]?.value;
      if (value !== undefined) {
        // Told a new period in between, the kernel ends a software event's old one at once, and again
        // (perf_swevent_set_period).
        if (counter.overflowAt !== null && value - counter.overflowAt < period) continue;
      }
      this.#onOverflow(overflowOf(sample, requestedName, set, members, counter, period), set, event, counter);
      counter.overflowAt = value ?? 0n;
    }
  }

  /** As of the last reading of the counters, and without what the rings still hold. */
  get loss(): OverflowLoss {
    let { lost } = this.#loss;
    for (const { counter, event, set, ring } of this.#watched)
      if (ring.take() === 0) lost += overflowsSince(counter, set.events[event]!);
    return { ...this.#loss, lost };
  }

  /** There are rings: what is due comes through them. */
  get isWatching(): boolean {
    return this.#watched.length > 0;
  }

  /** What the rings still hold goes: `drain` before. */
  close(): void {
    this.#loss.lost = this.loss.lost;
    this.#watch?.close();
    this.#watch = null;
    this.#epoll?.close();
    this.#epoll = null;
    for (const { mapping } of this.#watched) mapping.close();
    this.#watched.length = 0;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * The kernel takes any thread, and then drops the signals that this user may not
 * send (`sigio_perm`, fs/fcntl.c).
 */
function requireReceiver(tid: number): void {
  const pid = requireThread(tid);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM' || process.geteuid?.() === 0) return;
    throw new CounterpointError(
      'ERR_SIGNAL',
      `an overflow cannot send a signal to thread ${tid}: process ${pid} belongs to another user`,
      'Name a thread of your own process, or leave out signal and read overflows().',
    );
  }
}

/** How often a counter must have overflowed since it was last told of. */
function overflowsSince({ now, base, overflowAt, period }: Counter, { attr }: CountedEvent): bigint {
  if (attr.flags.inherit === 1 || !overflowsExactly(attr)) return 0n;
  const counted = (base.value + now.value - (overflowAt ?? 0n)) / period;
  return counted > 0n ? counted : 0n;
}

/** The kernel itself counts it, one by one. */
function overflowsExactly({ type, config }: PerfEventAttr): boolean {
  if (type === PERF_TYPE_SOFTWARE)
    return config !== BigInt(PERF_COUNT_SW_CPU_CLOCK) && config !== BigInt(PERF_COUNT_SW_TASK_CLOCK);
  return type === PERF_TYPE_TRACEPOINT || type === PERF_TYPE_BREAKPOINT;
}

interface GroupMember {
  name: string;
  counter: Counter;
}

function overflowOf(
  sample: Sample,
  name: string,
  set: OpenSet,
  members: readonly GroupMember[],
  counter: Counter,
  period: bigint,
): Overflow {
  const { read, time, tid, cpu } = sample;
  const values = read?.values ?? [];
  const at = members.findIndex((member) => member.counter === counter);
  const own = values[at]?.value;
  return {
    event: name,
    set: set.name,
    // At the very count of a reset: before it, for an overflow comes with a count.
    count:
      own === undefined ? null : own - (own <= counter.base.value ? counter.baseBefore : counter.base.value),
    group:
      values.length < 2
        ? []
        : members.flatMap((member, index) =>
            index === at
              ? []
              : [{ event: member.name, count: countOf(member.counter, values[index]!.value) }],
          ),
    period,
    timeNs: time ?? 0n,
    tid: tid ?? -1,
    cpu: cpu ?? -1,
  };
}

/**
 * What a counter had counted, by the kernel's value: since its last reset, or of
 * before that since the one before.
 */
function countOf({ base, baseBefore }: Counter, value: bigint): bigint {
  return value - (value < base.value ? baseBefore : base.value);
}

/**
 * The counters that are read together with this one, in the kernel's order: the leader, then
 * its members as they were opened.
 */
function groupOf(set: OpenSet, event: number, counter: Counter): GroupMember[] {
  const leader = set.events[event]!.leader ?? event;
  return set.events.flatMap((candidate, index) => {
    if (index !== leader && candidate.leader !== leader) return [];
    const own = set.counters[index]!.find(
      ({ row }) => row.task === counter.row.task && row.cpu === counter.row.cpu,
    );
    return own === undefined ? [] : [{ name: candidate.requestedName, counter: own }];
  });
}
