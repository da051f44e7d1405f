import type {
  AddedRecords,
  PerfDataReader,
  RecordedEvent,
  RecordSink,
  RecordSource,
  SourceScanOptions,
} from '../../file-formats/perfdata/index.ts';
import { relativeNs } from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '../../format/abi/index.ts';
import { decodeSampleInto, SampleFields } from '../../format/records/index.ts';
import { OffCpuSpans } from './off-cpu-spans.ts';
import { ThreadLoop, type WaitCall } from './thread-loop.ts';

/** The calls in which event loops wait. */
const WAIT_EVENT = /^syscalls:sys_(enter|exit)_epoll_(p?wait2?)$/;
/** Samples at the moment in which a thread is taken off its CPU. */
const SWITCH_EVENT = /^(?:context-switches|cs|sched:sched_switch)(?:[:/]|$)/;

export function isSwitchEvent(name: string): boolean {
  return SWITCH_EVENT.test(name);
}

/** Common fields of a tracepoint, the number of the system call, and its arguments or its result. */
const ARGUMENTS_OFFSET = 16;
const ARGUMENT_BYTES = 8;
const EPOLL_FD = 0;
const TIMEOUT = 3;

interface WaitEvent {
  isEnter: boolean;
  /** epoll_pwait2 has the place of its timeout. */
  hasTimeout: boolean;
}

/**
 * Stands before the records of a recording: takes what is about event loops (waits, times off the CPU) out of
 * them, and passes the others on. Samples that were taken while a loop began to wait stay behind: there are
 * very many, and all of them say the same.
 */
export class LoopRecords implements RecordSource {
  readonly reader: PerfDataReader;
  /** By thread. */
  readonly loops = new Map<number, ThreadLoop>();
  /** Of threads whose number others have now. */
  readonly former: ThreadLoop[] = [];
  readonly spans = new Map<number, OffCpuSpans>();
  /** Of the first and the last record that has a time, since the reader's base time: it may be before it. */
  firstNs = Number.POSITIVE_INFINITY;
  lastNs = Number.NEGATIVE_INFINITY;
  hasSwitches = false;
  waitEvents = 0;
  readonly #source: RecordSource;
  readonly #fields = new SampleFields();
  /** By index of the event; undefined where nobody has asked. */
  readonly #kinds: (WaitEvent | 'switch' | null)[] = [];
  /** When threads and processes began. */
  readonly #starts = new Map<number, number>();
  readonly #ends = new Map<number, number>();

  constructor(source: RecordSource) {
    this.#source = source;
    this.reader = source.reader;
  }

  async scan(sink: RecordSink, options?: SourceScanOptions): Promise<AddedRecords | null> {
    const record: RecordSink['record'] = (view, start, end, type, fileOffset) => {
      if (this.#take(view, start, end, type)) sink.record(view, start, end, type, fileOffset);
    };
    const added = await this.#source.scan({ record }, options);
    for (const loop of this.loops.values()) loop.end(this.lastNs, false);
    return added;
  }

  startOf(tid: number): number | null {
    return this.#starts.get(tid) ?? null;
  }

  endOf(tid: number): number | null {
    return this.#ends.get(tid) ?? null;
  }

  /** Whether others get the record, too. */
  #take(view: DataView, start: number, end: number, type: number): boolean {
    const { events, littleEndian } = this.reader;
    if (type === PERF_RECORD_SAMPLE) {
      const event = events.eventOf(view, start, end, type, littleEndian);
      return event === null || this.#sample(view, start, end, event);
    }
    if (!WANTED.has(type)) return true;
    const event = events.eventOf(view, start, end, type, littleEndian) ?? events.events[0];
    if (event === undefined) return true;
    const { layout } = event;
    const hasWhen = (layout.sampleType & WHO_AND_WHEN) === WHO_AND_WHEN && layout.timeFromEnd > 0;
    const at = end - layout.trailerSize;
    if (!hasWhen || at < start + 8) return true;
    const pid = view.getInt32(at, littleEndian);
    const tid = view.getInt32(at + 4, littleEndian);
    const timeNs = this.#timeAt(view, end - layout.timeFromEnd);
    // What was there before the recording has no time.
    if (Number.isNaN(timeNs)) return true;
    this.#note(timeNs);
    const misc = view.getUint16(start + 4, littleEndian);
    switch (type) {
      case PERF_RECORD_SWITCH:
        this.#switch(tid, timeNs, misc);
        return false;
      case PERF_RECORD_FORK:
        this.#fork(view.getInt32(start + 16, littleEndian), timeNs);
        break;
      case PERF_RECORD_EXIT:
        this.#exit(view.getInt32(start + 16, littleEndian), timeNs);
        break;
      case PERF_RECORD_COMM:
        if ((misc & PERF_RECORD_MISC_COMM_EXEC) !== 0) this.#exec(pid, timeNs);
        break;
      default:
        for (const loop of this.loops.values()) loop.lose();
    }
    return true;
  }

  #sample(view: DataView, start: number, end: number, event: RecordedEvent): boolean {
    let kind = this.#kinds[event.index];
    if (kind === undefined) this.#kinds[event.index] = kind = kindOf(event);
    const { layout } = event;
    if ((layout.sampleType & WHO_AND_WHEN) !== WHO_AND_WHEN) return true;
    const timeNs = this.#timeAt(view, start + layout.timeFromStart);
    this.#note(timeNs);
    if (kind === null) return true;
    const fields = this.#fields;
    if (!decodeSampleInto(view, start, end, layout, this.reader.littleEndian, fields)) return true;
    const { tid, pid } = fields;
    if (kind === 'switch') return this.loops.get(tid)?.isWaiting !== true;
    this.waitEvents++;
    let loop = this.loops.get(tid);
    if (loop === undefined) {
      const startNs = this.#starts.get(tid);
      loop = new ThreadLoop(pid, tid, startNs ?? this.firstNs, startNs !== undefined);
      this.loops.set(tid, loop);
    }
    if (kind.isEnter) loop.enter(timeNs, this.#callOf(view, layout.sampleType, kind));
    else loop.exit(timeNs, this.#result(view, layout.sampleType));
    return false;
  }

  #callOf(view: DataView, bits: number, { hasTimeout }: WaitEvent): WaitCall {
    return {
      epollFd: this.#argument(view, bits, EPOLL_FD),
      timeoutMs: hasTimeout ? this.#argument(view, bits, TIMEOUT) : null,
    };
  }

  #result(view: DataView, bits: number): number | null {
    return this.#argument(view, bits, 0);
  }

  /** These calls have arguments of 32 bits. */
  #argument(view: DataView, bits: number, index: number): number | null {
    const { rawOffset, rawSize } = this.#fields;
    const offset = ARGUMENTS_OFFSET + index * ARGUMENT_BYTES;
    if ((bits & PERF_SAMPLE_RAW) === 0 || offset + ARGUMENT_BYTES > rawSize) return null;
    return view.getInt32(rawOffset + offset + (this.reader.littleEndian ? 0 : 4), this.reader.littleEndian);
  }

  #switch(tid: number, timeNs: number, misc: number): void {
    this.hasSwitches = true;
    let spans = this.spans.get(tid);
    if (spans === undefined) this.spans.set(tid, (spans = new OffCpuSpans()));
    if ((misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0)
      spans.out(timeNs, (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) !== 0);
    else spans.in(timeNs, this.loops.get(tid)?.isWaiting !== true);
  }

  /** Numbers of threads are used again. */
  #fork(tid: number, timeNs: number): void {
    this.#starts.set(tid, timeNs);
    this.#ends.delete(tid);
    const former = this.loops.get(tid);
    if (former === undefined) return;
    former.end(timeNs, true);
    this.former.push(former);
    this.loops.delete(tid);
  }

  #exit(tid: number, timeNs: number): void {
    this.#ends.set(tid, timeNs);
    this.loops.get(tid)?.end(timeNs, true);
    this.spans.get(tid)?.end(timeNs, this.loops.get(tid)?.isWaiting !== true);
  }

  /** Another program in the same process. */
  #exec(pid: number, timeNs: number): void {
    this.#starts.set(pid, timeNs);
    this.loops.delete(pid);
    this.spans.delete(pid);
  }

  #note(timeNs: number): void {
    if (timeNs < this.firstNs) this.firstNs = timeNs;
    if (timeNs > this.lastNs) this.lastNs = timeNs;
  }

  #timeAt(view: DataView, at: number): number {
    const { littleEndian: le, baseTime } = this.reader;
    const lo = view.getUint32(at + (le ? 0 : 4), le);
    const hi = view.getUint32(at + (le ? 4 : 0), le);
    return lo === 0 && hi === 0 ? Number.NaN : relativeNs(lo, hi, baseTime);
  }
}

const WHO_AND_WHEN = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
const WANTED: ReadonlySet<number> = new Set([
  PERF_RECORD_SWITCH,
  PERF_RECORD_FORK,
  PERF_RECORD_EXIT,
  PERF_RECORD_COMM,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
]);

function kindOf({ name }: RecordedEvent): WaitEvent | 'switch' | null {
  const [, side, call] = WAIT_EVENT.exec(name) ?? [];
  if (side !== undefined) return { isEnter: side === 'enter', hasTimeout: call !== 'pwait2' };
  return isSwitchEvent(name) ? 'switch' : null;
}
