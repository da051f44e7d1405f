import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
} from '@counterpoint/core/abi';
import type { PerfEventAttr } from '@counterpoint/core/records';
import { ForwardRing, mappedRing } from '@counterpoint/core/ring';
import type { Fd, Mapping, Sys } from '../sys/index.ts';
import type { AuxArea } from './aux-areas.ts';
import { FamilySwitch } from './families.ts';
import type { PausedRings } from './muted-events.ts';
import type { Note } from './notes.ts';
import type { PlannedEvent } from './planned-event.ts';

/** One opened descriptor of an event: for one task on one CPU. */
export interface EventInstance {
  fd: Fd;
  /** The kernel's id, by which records name the event. */
  id: bigint;
  task: number;
  cpu: number;
  /** Index of its ring. */
  ring: number;
}

/** An event as it was opened. */
export interface SampledEvent extends PlannedEvent {
  /** What the kernel writes of it is not taken, and counted as lost (`muted-events.ts`). */
  isMuted?: boolean;
  instances: EventInstance[];
}

/** A mapped ring and the events that write to it. */
export interface EventRing {
  /** -1: the ring is a thread's. */
  cpu: number;
  /** -1: the ring is a CPU's. */
  tid: number;
  mapping: Mapping;
  ring: ForwardRing;
  /** Where a hardware trace goes; null: no event of the ring makes one. */
  aux: AuxArea | null;
}

/** Whether events of this thread on this CPU have their records in a ring. */
export function writesTo({ cpu, task }: { cpu: number; task: number }, ring: EventRing): boolean {
  return cpu === ring.cpu && (cpu >= 0 || task === ring.tid);
}

/**
 * What an event lost, summed over its instances: its samples and, where it also tells of mappings, forks and
 * exits, those records too. The kernel keeps one count for all of them.
 */
export interface EventTotals {
  event: SampledEvent;
  lostSamples: bigint;
  byInstance: { instance: EventInstance; lostSamples: bigint }[];
}

/**
 * A handle on the monitoring of a target: it owns every descriptor and ring, and closes
 * them all. Made by `openSampledEvents`.
 */
export class SampledEvents implements Disposable {
  readonly events: readonly SampledEvent[];
  readonly rings: readonly EventRing[];
  /** What was done otherwise than asked. */
  readonly notes: readonly Note[];
  readonly #sys: Sys;
  readonly #families = new FamilySwitch();
  readonly #pausedRings: PausedRings;
  /** Somebody has stopped the trace: a full area is no reason to begin again. */
  #isTraceOff = false;

  constructor(
    sys: Sys,
    events: SampledEvent[],
    rings: EventRing[],
    notes: readonly Note[],
    pausedRings: PausedRings,
  ) {
    this.#sys = sys;
    this.#pausedRings = pausedRings;
    this.events = events;
    this.rings = rings;
    this.notes = notes;
  }

  /** Start what waits for neither an exec nor a leader. */
  enable(): void {
    this.#isTraceOff = false;
    this.#switch(
      this.events.filter(({ attr }) => attr.flags.disabled === 1 && attr.flags.enableOnExec === 0),
      (fd) => this.#sys.enable(fd),
    );
  }

  /** Samples of these events, members of groups among them, and of those that inherited them. */
  setSampling(isOn: boolean, events: readonly SampledEvent[]): void {
    if (events.some(({ aux }) => aux !== undefined)) this.#isTraceOff = !isOn;
    const switchAll = () => {
      for (const { instances } of events)
        for (const { fd } of instances) {
          if (isOn) this.#sys.enable(fd);
          else this.#sys.disable(fd);
        }
    };
    switchAll();
    if (events.some(({ attr }) => attr.flags.inherit === 1)) this.#families.repeat(switchAll);
  }

  /**
   * The kernel stops an event whose AUX area is full: begin again, now that the area of this ring has room.
   * Does nothing to an event that goes on.
   */
  resumeTrace(ring: EventRing): void {
    if (this.#isTraceOff) return;
    for (const { aux, instances } of this.events) {
      if (aux === undefined) continue;
      for (const instance of instances) if (writesTo(instance, ring)) this.#sys.enable(instance.fd);
    }
  }

  /** The trace stands still while `use` is at work, and goes on if it went on before. */
  async pausedTrace(use: () => Promise<void>): Promise<void> {
    const traced = this.events.filter(({ aux }) => aux !== undefined);
    this.#switch(traced, (fd) => this.#sys.disable(fd));
    try {
      await use();
    } finally {
      if (!this.#isTraceOff) this.#switch(traced, (fd) => this.#sys.enable(fd));
    }
  }

  /** Stop everything. Records of what already happened stay in the rings. */
  disable(): void {
    this.#isTraceOff = true;
    this.#switch(this.events, (fd) => this.#sys.disable(fd));
  }

  /** These stand still while `use` is at work, and go on. Records of what already happened stay. */
  async paused(events: readonly SampledEvent[], use: () => Promise<void>): Promise<void> {
    this.#switch(events, (fd) => this.#sys.disable(fd));
    try {
      await use();
    } finally {
      this.#switch(events, (fd) => this.#sys.enable(fd));
    }
  }

  /** Members follow their leaders. */
  #switch(events: readonly SampledEvent[], call: (fd: Fd) => void): void {
    const leaders = events.filter(({ leader }) => leader === null);
    const families = leaders.filter(({ attr }) => attr.flags.inherit === 1);
    const callAll = (some: readonly SampledEvent[]) => {
      for (const { instances } of some) for (const { fd } of instances) call(fd);
    };
    callAll(leaders);
    if (families.length > 0) this.#families.repeat(() => callAll(families));
  }

  /**
   * What the kernel counted as lost, per event; nothing on kernels that do not count it. What muted events
   * lost their formats tell.
   */
  readLost(events: readonly SampledEvent[] = this.events): EventTotals[] {
    return events
      .filter(({ isMuted = false }) => !isMuted)
      .map((event) => lostOf(this.#sys, event))
      .filter((totals) => totals !== null);
  }

  close(): void {
    this.#families.stop();
    this.#pausedRings[Symbol.dispose]();
    for (const { mapping, aux } of this.rings) {
      aux?.[Symbol.dispose]();
      mapping.close();
    }
    for (const { instances } of this.events) for (const { fd } of instances) fd.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Null on kernels that do not count it. */
export function lostOf(sys: Sys, event: SampledEvent): EventTotals | null {
  const place = lostWord(event.attr);
  if (place === null) return null;
  const words = new BigUint64Array(place.words);
  const byInstance = event.instances.map((instance) => {
    sys.read(instance.fd, new Uint8Array(words.buffer));
    return { instance, lostSamples: words[place.index]! };
  });
  const lostSamples = byInstance.reduce((sum, one) => sum + one.lostSamples, 0n);
  return { event, lostSamples, byInstance };
}

/**
 * Where the lost count stands in what read() gives: `value, id, lost`. Group reads
 * are another form, and not used.
 */
function lostWord(attr: PerfEventAttr): { index: number; words: number } | null {
  const bits = Number(attr.readFormat);
  const hasLost = (bits & PERF_FORMAT_LOST) !== 0;
  if (!hasLost || (bits & PERF_FORMAT_GROUP) !== 0) return null;
  const times =
    (bits & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1 : 0) + (bits & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1 : 0);
  const index = 1 + times + (bits & PERF_FORMAT_ID ? 1 : 0);
  return { index, words: index + 1 };
}

export function openRing(sys: Sys, fd: Fd, place: { cpu: number; tid: number }, pages: number): EventRing {
  const page = sys.pageSizeBytes();
  const mapping = sys.mmap(fd, page * (pages + 1));
  return { ...place, mapping, ring: new ForwardRing(mappedRing(mapping.buffer, page)), aux: null };
}
