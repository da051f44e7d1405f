import {
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import {
  BodyWriter,
  type CommRecord,
  decodeRecord,
  encodeRecord,
  type PerfRecord,
  SampleLayout,
} from '@counterpoint/core/records';
import type { StoppedHistory } from '@counterpoint/core/ring';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { FINISHED_INIT, type MapWatch } from '../record/index.ts';
import { ProcessState } from './process-state.ts';
import { stoppedRecords, type TimedRecord } from './stopped-records.ts';

/** Measured: what a record takes beside its bytes. */
const RECORD_OVERHEAD_BYTES = 300;
/** `header | pid, ppid, tid, ...` of a FORK, `header | pid, tid, ...` of a COMM. */
const PID_AT = 8;
const PARENT_AT = 12;
const FORK_TID_AT = 16;
const PARENT_TID_AT = 20;
const COMM_TID_AT = 12;

/** Types of records that the log is given. */
export const SIDEBAND_TYPES: readonly number[] = [
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_EXIT,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_BPF_EVENT,
];

/**
 * What processes did, for as long as the history goes back: who there was when it begins, and the kernel's
 * records since.
 *
 *   state ──records older than the history are applied to it── | records since, as they are ... now
 *                                                            begin
 */
export class SidebandLog {
  readonly state = new ProcessState((pid) => this.#forget(pid));
  readonly #layout: SampleLayout;
  readonly #eventId: bigint;
  readonly #maps: Pick<MapWatch, 'add' | 'forget'>;
  /** Roughly in order of time: each ring's are, and rings are read one after the other. */
  #since: TimedRecord[] = [];
  #sizeBytes = 0;
  #newestNs = 0;
  readonly #mostBytes: number;
  #droppedToNs: number | null = null;

  /**
   * `event` is the one that tells of processes and maps; `maps` sees maps at once. Of more than `mostBytes`
   * the oldest records go into the state before their time: the history begins behind them.
   */
  constructor(
    event: Pick<SampledEvent, 'attr' | 'instances'>,
    maps: Pick<MapWatch, 'add' | 'forget'>,
    mostBytes = Number.POSITIVE_INFINITY,
  ) {
    this.#mostBytes = mostBytes;
    this.#layout = new SampleLayout(event.attr);
    this.#eventId = event.instances[0]?.id ?? 0n;
    this.#maps = maps;
  }

  /** Memory of the records since the history begins. */
  get sizeBytes(): number {
    return this.#sizeBytes + this.#since.length * RECORD_OVERHEAD_BYTES;
  }

  /** Who ran what before this is not known any more. Null: nothing had to go for want of memory. */
  get droppedToNs(): number | null {
    return this.#droppedToNs;
  }

  /** The name that a thread has now; null: nobody told of it. */
  nameOf(pid: number, tid: number): string | null {
    // A thread gets its name on one CPU, and was made on another, whose ring may have been read later.
    this.#sort();
    for (let row = this.#since.length - 1; row >= 0; row--) {
      const { bytes } = this.#since[row]!;
      const view = new DataView(bytes.buffer);
      const type = view.getUint32(0, true);
      if (
        type === PERF_RECORD_COMM &&
        view.getInt32(PID_AT, true) === pid &&
        view.getInt32(COMM_TID_AT, true) === tid
      )
        return (this.#decode(bytes) as CommRecord).comm;
      // It begins with the name of the thread that made it, which may get another one later.
      if (type === PERF_RECORD_FORK && view.getInt32(FORK_TID_AT, true) === tid) {
        const [parent, parentThread] = [view.getInt32(PARENT_AT, true), view.getInt32(PARENT_TID_AT, true)];
        return parentThread === tid ? null : this.nameOf(parent, parentThread);
      }
    }
    return this.state.nameOf(pid, tid);
  }

  /** A record of a ring, which is copied. */
  add(view: DataView<ArrayBuffer>, offset: number, size: number): void {
    const timeAt = offset + size - this.#layout.timeFromEnd;
    const timeNs = Number(view.getBigUint64(timeAt, true));
    const bytes = new Uint8Array(
      view.buffer.slice(view.byteOffset + offset, view.byteOffset + offset + size),
    );
    this.#push({ timeNs, bytes });
    if (view.getUint32(offset, true) === PERF_RECORD_MMAP2) this.#maps.add(this.#decode(bytes));
  }

  #push(one: TimedRecord): void {
    this.#since.push(one);
    this.#sizeBytes += one.bytes.length;
    this.#newestNs = Math.max(this.#newestNs, one.timeNs);
    if (this.sizeBytes > this.#mostBytes && this.#since.length > 1) this.#dropOldest();
  }

  /** A quarter of them at once, so that each is moved once. */
  #dropOldest(): void {
    this.#sort();
    const begin = this.#since[Math.ceil(this.#since.length / 4)]!;
    this.#droppedToNs = begin.timeNs;
    this.beginAt(begin.timeNs);
  }

  /**
   * What is so now, where the kernel's records have a gap: it stands behind all that came so far, and before
   * what the kernel tells from now on.
   */
  insert(records: readonly PerfRecord[]): void {
    const timeNs = this.#newestNs + 1;
    const time = BigInt(Math.round(timeNs));
    for (const record of records) {
      const { pid, tid } = record as { pid: number; tid: number };
      const timed = { ...record, sampleId: { pid, tid, time, id: this.#eventId } };
      const writer = new BodyWriter(true, 128);
      encodeRecord(writer, 'time' in timed ? { ...timed, time } : timed, this.#layout);
      this.#push({ timeNs, bytes: writer.take() });
      this.#maps.add(record);
    }
  }

  /**
   * All threads that are known, by process: those of now, and those that have ended since the history begins.
   */
  tasks(): Map<number, Set<number>> {
    const tasks = this.state.tasks();
    for (const { bytes } of this.#since) {
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      const type = view.getUint32(0, true);
      if (type !== PERF_RECORD_FORK && type !== PERF_RECORD_COMM) continue;
      const pid = view.getInt32(PID_AT, true);
      const threads = tasks.get(pid) ?? new Set();
      threads.add(view.getInt32(type === PERF_RECORD_FORK ? FORK_TID_AT : COMM_TID_AT, true));
      tasks.set(pid, threads);
    }
    return tasks;
  }

  /** The history begins here from now on. */
  beginAt(timeNs: number): void {
    this.#sort();
    const kept = this.#since.findIndex((one) => one.timeNs >= timeNs);
    const older = this.#since.splice(0, kept < 0 ? this.#since.length : kept);
    for (const { bytes } of older) {
      this.#sizeBytes -= bytes.length;
      this.state.apply(this.#decode(bytes));
    }
  }

  /** A process ended before the history begins. Its number may be that of a later one, which has samples. */
  #forget(pid: number): void {
    if (!this.#maps.forget(pid)) return;
    for (const { bytes } of this.#since) {
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      if (view.getUint32(0, true) === PERF_RECORD_MMAP2 && view.getInt32(PID_AT, true) === pid)
        this.#maps.add(this.#decode(bytes));
    }
  }

  #sort(): void {
    this.#since.sort((one, other) => one.timeNs - other.timeNs);
  }

  #decode(bytes: Uint8Array<ArrayBuffer>): PerfRecord {
    return decodeRecord(new DataView(bytes.buffer), 0, bytes.length, this.#layout);
  }

  /** Who there was when the history begins. `sink` sees each of the records. */
  stateRecords(layout: SampleLayout, sink: (record: PerfRecord) => void): Uint8Array<ArrayBuffer> {
    const writer = new BodyWriter(true, 4096);
    for (const record of this.state.records()) {
      sink(record);
      encodeRecord(writer, record, layout);
    }
    encodeRecord(writer, FINISHED_INIT, layout);
    return writer.take();
  }

  /** How many records there are since the history begins. */
  get count(): number {
    return this.#since.length;
  }

  /**
   * The records since, in the form in which histories are merged, without the first
   * `from` of them. `sink` sees each.
   */
  recordsSince(sink: (record: PerfRecord) => void, from = 0): StoppedHistory {
    if (from === 0) this.#sort();
    const some = this.#since.slice(from).sort((one, other) => one.timeNs - other.timeNs);
    for (const { bytes } of some) sink(this.#decode(bytes));
    return stoppedRecords(some);
  }
}
