import { floatAt } from '../../../base/index.ts';
import {
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from '../../../format/abi/index.ts';
import { type PerfEventAttr, SampleLayout } from '../../../format/records/index.ts';

/** One event of a recording: its attr, its ids (one per CPU or thread) and its name. */
export interface RecordedEvent {
  /** Its place among the events of the recording. */
  index: number;
  /** Its attr (`struct perf_event_attr`). */
  attr: PerfEventAttr;
  /** The ids that its records carry. */
  ids: number[];
  /** Its name, as the recording has it. */
  name: string;
  /** Where the fields of its samples stand. */
  layout: SampleLayout;
}

/**
 * Whether samples have the user's stack and registers, and no call chain of user code:
 * callers come by unwinding only.
 */
export function hasRawUserStacks({ attr, layout }: RecordedEvent): boolean {
  const has = (bits: number) => (layout.sampleType & bits) !== 0;
  const hasChain = has(PERF_SAMPLE_CALLCHAIN) && attr.flags.excludeCallchainUser === 0;
  return has(PERF_SAMPLE_STACK_USER) && has(PERF_SAMPLE_REGS_USER) && !hasChain;
}

/** clock_gettime(2). */
const CLOCK_MONOTONIC = 1;

/** Whether the times of all events are those of CLOCK_MONOTONIC (`record -k mono`), which other logs have. */
export function hasMonotonicTimes({ events }: Pick<EventTable, 'events'>): boolean {
  return events.every(({ attr }) => attr.flags.useClockId === 1 && attr.clockId === CLOCK_MONOTONIC);
}

/** The first type that the kernel gives to a PMU as it finds one. Types below are fixed (`PERF_TYPE_*`). */
const FIRST_PMU_TYPE = 6;

/**
 * Whether there can be a hardware trace in the recording: one of its events is of a PMU. Of a pipe that is
 * not known before it is read, so it may hold one.
 */
export function mayHoldTrace({
  isPipe,
  events,
}: {
  readonly isPipe: boolean;
  readonly events: EventTable;
}): boolean {
  return isPipe || events.events.some(({ attr }) => attr.type >= FIRST_PMU_TYPE);
}

/** More ids than any recording has (one per event and CPU or thread); beyond it they are taken for damage. */
export const MAX_IDS = 1 << 22;

/** Layouts differ between events, so where the time stands depends on the event. */
const MIXED = -2;

/** The events of a recording, found by the ids that records carry. */
export class EventTable {
  /** The events, in the order of the recording. */
  readonly events: RecordedEvent[] = [];
  readonly #byId = new Map<number, RecordedEvent>();
  #timeFromStart = -1;
  #timeFromEnd = -1;

  /** Its ids are those there was room for. */
  add(attr: PerfEventAttr, ids: number[], name: string): RecordedEvent {
    const event: RecordedEvent = {
      index: this.events.length,
      attr,
      ids,
      name,
      layout: new SampleLayout(attr),
    };
    const { timeFromStart, timeFromEnd } = event.layout;
    if (this.events.length === 0) {
      this.#timeFromStart = timeFromStart;
      this.#timeFromEnd = timeFromEnd;
    } else {
      if (this.#timeFromStart !== timeFromStart) this.#timeFromStart = MIXED;
      if (this.#timeFromEnd !== timeFromEnd) this.#timeFromEnd = MIXED;
    }
    this.events.push(event);
    event.ids = ids.filter((id) => this.addId(event, id));
    return event;
  }

  /** False where there are too many ids already. */
  addId(event: RecordedEvent, id: number): boolean {
    if (this.#byId.size >= MAX_IDS && !this.#byId.has(id)) return false;
    this.#byId.set(id, event);
    return true;
  }

  /** The event whose records carry this id; null if there is none. */
  findId(id: number): RecordedEvent | null {
    return this.#byId.get(id) ?? null;
  }

  /**
   * The event a record belongs to. Without ids in the records (old files, one event) that is the first event;
   * null where the record's id is not known.
   */
  eventOf(view: DataView, start: number, end: number, type: number, le: boolean): RecordedEvent | null {
    const first = this.events[0];
    if (first === undefined || this.events.length === 1) return first ?? null;
    const at = idOffset(first.layout, start, end, type);
    if (at < start + 8 || at + 8 > end) return first;
    const id = floatAt(view, at, le);
    // The kernel's own side-band records of an event without an id carry 0.
    if (id === 0) return type === PERF_RECORD_SAMPLE ? null : first;
    return this.findId(id);
  }

  /** Offset of the time in a kernel record, or -1 where it has none. */
  timeOffset(view: DataView, start: number, end: number, type: number, le: boolean): number {
    const isSample = type === PERF_RECORD_SAMPLE;
    let fixed = isSample ? this.#timeFromStart : this.#timeFromEnd;
    if (fixed === MIXED) {
      const event = this.eventOf(view, start, end, type, le);
      if (event === null) return -1;
      fixed = isSample ? event.layout.timeFromStart : event.layout.timeFromEnd;
    }
    if (fixed < 0) return -1;
    const at = isSample ? start + fixed : end - fixed;
    return at >= start + 8 && at + 8 <= end ? at : -1;
  }
}

/**
 * All attrs of a file agree on where the id stands (PERF_SAMPLE_IDENTIFIER exists
 * for that), so any layout tells.
 */
function idOffset(layout: SampleLayout, start: number, end: number, type: number): number {
  if (type === PERF_RECORD_SAMPLE) return layout.idFromStart < 0 ? -1 : start + layout.idFromStart;
  return layout.idFromEnd < 0 ? -1 : end - layout.idFromEnd;
}
