import { CounterpointError, TWO_32 } from '@counterpoint/core/base';
import { checkMade } from '../../../host/options/index.ts';
import type { Fd, Mapping, Sys } from '../../kernel/sys/index.ts';
import type { SelfMonitoringNote } from './notes.ts';
import type { PageReader } from './page-reader.ts';
import { STUB_BUSY, STUB_NEEDS_READ, STUB_NO_CLOCK, STUB_TIMES_STALE } from './stub-request.ts';

/** An event of `counters()`. */
export interface CountersEvent {
  /** As it was asked for. */
  requestedName: string;
  /** As it is counted: `cycles:u` where the kernel's part had to be left out. */
  name: string;
  /** Events with the same number count in the same moments. */
  group: number;
  /** The unit of the value times `scale`, such as `Joules`; absent where the kernel names none. */
  unit?: string;
  /** The value times this is in `unit`. */
  scale?: number;
}

/** `page`: read in user space, without a system call. `read`: by read(2). */
export type CountersSource = 'page' | 'read';

/** What one event has counted. */
export interface CountersValue {
  /** The event. */
  event: CountersEvent;
  /** What the counter saw since `counters()`. */
  value: bigint;
  /** For the whole time where the event shared its counter; null where it has not run yet. */
  scaled: bigint | null;
  /** CPU time of the thread since `counters()`, in nanoseconds. */
  enabledNs: bigint;
  /** How much of that time the event was on a counter, in nanoseconds. */
  runningNs: bigint;
}

/** All counts at one moment. */
export interface CountersReading {
  /** When, by the counters' clock. */
  timeNs: bigint;
  /** Whether it was read in user space or by a system call. */
  source: CountersSource;
  /** In the order of `events`. */
  counts: CountersValue[];
}

/** What an open `Counters` consists of; it owns all of it. */
export interface CountersParts {
  sys: Sys;
  events: readonly CountersEvent[];
  fds: readonly Fd[];
  /** By group, the indices of its events; the first is the leader. */
  groups: readonly (readonly number[])[];
  pages: readonly Mapping[];
  /** Null where this process may not run code of its own. */
  reader: PageReader | null;
  /** Whether `reader` reads the events, not only the time. */
  readsEvents: boolean;
  clock: 'perf' | 'monotonic';
  notes: readonly SelfMonitoringNote[];
}

/** What read(2) of a group's leader fills, as bytes and as halves of words. */
interface GroupReading {
  fd: Fd;
  bytes: Uint8Array;
  words: Uint32Array;
  members: readonly number[];
}

/** Words before the values of a group's read(): how many, enabled, running. */
const GROUP_HEAD_WORDS = 3;

/**
 * Counters of the thread that made them with `counters()`. They count from then on. A read takes no system
 * call if the kernel lets programs read the hardware counters of these events; otherwise it takes one per
 * group. Close the counters in the same thread.
 */
export class Counters implements Disposable {
  /** The events, in the order in which they were requested. */
  readonly events: readonly CountersEvent[];
  /** What differs from the request, and why. */
  readonly notes: readonly SelfMonitoringNote[];
  /** The clock of `timeNs`. `perf`: the clock of the kernel's records. `monotonic`: CLOCK_MONOTONIC. */
  readonly clock: 'perf' | 'monotonic';
  readonly #parts: CountersParts;
  readonly #groups: readonly GroupReading[];
  /**
   * Time, values, enabled, running: as pairs of halves, and as a whole. The reader's own
   * memory where it reads the events.
   */
  readonly #halves: Uint32Array;
  readonly #all: BigUint64Array;
  readonly #timeAndValues: BigUint64Array;
  readonly #readerTime: Uint32Array | null;
  /** What the counters' clock is ahead of CLOCK_MONOTONIC. */
  readonly #clockAheadNs: bigint;
  #isOpen = true;

  /** @internal */
  constructor(parts: CountersParts) {
    checkMade(parts, 'fds', 'a Counters', "const open = counters('task-clock');");
    const { events, groups, fds, reader, readsEvents } = parts;
    this.#parts = parts;
    this.events = events;
    this.notes = parts.notes;
    this.clock = parts.clock;
    this.#groups = groups.map((members) => {
      const words = new Uint32Array(2 * (GROUP_HEAD_WORDS + members.length));
      return { fd: fds[members[0]!]!, bytes: new Uint8Array(words.buffer), words, members };
    });
    const words = 1 + 3 * events.length;
    const memory = reader !== null && readsEvents ? reader.results : new ArrayBuffer(8 * words);
    this.#halves = new Uint32Array(memory, 0, 2 * words);
    this.#all = new BigUint64Array(memory, 0, words);
    this.#timeAndValues = new BigUint64Array(memory, 0, 1 + events.length);
    this.#readerTime = reader === null ? null : new Uint32Array(reader.results, 0, 2);
    this.#clockAheadNs = this.#findClockAhead();
  }

  /** Whether it can be read: `close()` was not called. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Reads all events. It makes objects; `readInto()` makes none. */
  read(): CountersReading {
    const source = this.#refresh(true);
    const words = this.#all;
    const count = this.events.length;
    const counts = this.events.map((event, i): CountersValue => {
      const value = words[1 + i]!;
      const enabledNs = words[1 + count + i]!;
      const runningNs = words[1 + 2 * count + i]!;
      return { event, value, scaled: scale(value, enabledNs, runningNs), enabledNs, runningNs };
    });
    return { timeNs: words[0]!, source, counts };
  }

  /**
   * The fast way: fills `out` with the time in nanoseconds, then the values in the order of `events`. If
   * `out` has room for 1 + 3 N numbers (N events), all enabled times and then all running times follow.
   * Allocates nothing while no system call is needed. A Float64Array is exact below 2^53: a time above that
   * (104 days) is right to 2 ns.
   */
  readInto(out: Float64Array | BigUint64Array): CountersSource {
    const count = this.events.length;
    if (!(out instanceof Float64Array || out instanceof BigUint64Array))
      throw new CounterpointError(
        'ERR_ARGUMENT',
        `readInto() fills a Float64Array or a BigUint64Array, not ${typeof out}`,
        `Give new Float64Array(${1 + count}).`,
      );
    const wantsTimes = out.length >= 1 + 3 * count;
    if (out.length < 1 + count) {
      throw new CounterpointError(
        'ERR_ARGUMENT',
        `an array of ${out.length} cannot hold the time and ${count} values`,
        `Make it ${1 + count} long, or ${1 + 3 * count} for the times, too.`,
      );
    }
    const source = this.#refresh(wantsTimes);
    if (out instanceof Float64Array) {
      const halves = this.#halves;
      const words = wantsTimes ? 1 + 3 * count : 1 + count;
      for (let i = 0; i < words; i++) out[i] = halves[2 * i + 1]! * TWO_32 + halves[2 * i]!;
    } else {
      out.set(wantsTimes ? this.#all : this.#timeAndValues);
    }
    return source;
  }

  /** Closes the counters. Closing twice does nothing. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { reader, pages, fds } = this.#parts;
    reader?.close();
    for (const page of pages) page.close();
    for (const fd of fds) fd.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Bring the words up to date. Times that are as old as the pages will do where `wantsTimes` is false. */
  #refresh(wantsTimes: boolean): CountersSource {
    if (!this.#isOpen)
      throw new CounterpointError('ERR_CLOSED', 'these counters are closed', 'Read before close().');
    const { reader, readsEvents } = this.#parts;
    const flags = reader === null ? STUB_NO_CLOCK : reader.read();
    if (readsEvents && flags === 0) return 'page';
    if ((flags & (STUB_NO_CLOCK | STUB_BUSY)) !== 0) {
      this.#all[0] = process.hrtime.bigint() + this.#clockAheadNs;
    } else if (!readsEvents) {
      this.#halves[0] = this.#readerTime![0]!;
      this.#halves[1] = this.#readerTime![1]!;
    }
    const needsRead = (flags & (STUB_NEEDS_READ | STUB_BUSY)) !== 0;
    const isStale = wantsTimes && (flags & STUB_TIMES_STALE) !== 0;
    if (readsEvents && !needsRead && !isStale) return 'page';
    for (const group of this.#groups) this.#readGroup(group);
    return 'read';
  }

  /**
   * { u64 nr; u64 time_enabled; u64 time_running; u64 value[nr] } (perf_event_open(2), PERF_FORMAT_GROUP).
   */
  #readGroup({ fd, bytes, words, members }: GroupReading): void {
    const halves = this.#halves;
    const count = this.events.length;
    // A pinned group that lost its counters reads as the end of a file: it does not run.
    if (this.#parts.sys.read(fd, bytes) < bytes.length) words.fill(0);
    for (let k = 0; k < members.length; k++) {
      const value = 2 * (1 + members[k]!);
      const enabled = value + 2 * count;
      const running = enabled + 2 * count;
      halves[value] = words[6 + 2 * k]!;
      halves[value + 1] = words[7 + 2 * k]!;
      halves[enabled] = words[2]!;
      halves[enabled + 1] = words[3]!;
      halves[running] = words[4]!;
      halves[running + 1] = words[5]!;
    }
  }

  #findClockAhead(): bigint {
    const { reader, clock } = this.#parts;
    if (reader === null || clock === 'monotonic') return 0n;
    const flags = reader.read();
    const now = process.hrtime.bigint();
    return (flags & (STUB_NO_CLOCK | STUB_BUSY)) === 0
      ? new BigUint64Array(reader.results, 0, 1)[0]! - now
      : 0n;
  }
}

/** What it would have been on a counter all the time, as perf computes it. Null where it never was. */
export function scale(value: bigint, enabledNs: bigint, runningNs: bigint): bigint | null {
  if (runningNs === 0n) return null;
  return runningNs >= enabledNs ? value : (value * enabledNs) / runningNs;
}
