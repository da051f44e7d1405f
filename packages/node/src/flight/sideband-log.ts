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
  decodeRecord,
  encodeRecord,
  type PerfRecord,
  SampleLayout,
} from '@counterpoint/core/records';
import type { StoppedHistory } from '@counterpoint/core/ring';
import type { SampledEvent } from '../perf-events/index.ts';
import { FINISHED_INIT, type MapWatch } from '../record/index.ts';
import { ProcessState } from './process-state.ts';
import { stoppedRecords, type TimedRecord } from './stopped-records.ts';

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
  readonly state = new ProcessState();
  readonly #layout: SampleLayout;
  readonly #maps: Pick<MapWatch, 'add'>;
  /** Roughly in order of time: each ring's are, and rings are read one after the other. */
  #since: TimedRecord[] = [];
  #sizeBytes = 0;

  /** `event` is the one that tells of processes and maps; `maps` sees maps at once. */
  constructor(event: Pick<SampledEvent, 'attr'>, maps: Pick<MapWatch, 'add'>) {
    this.#layout = new SampleLayout(event.attr);
    this.#maps = maps;
  }

  /** Bytes of records since the history begins. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** A record of a ring, which is copied. */
  add(view: DataView<ArrayBuffer>, offset: number, size: number): void {
    const timeAt = offset + size - this.#layout.timeFromEnd;
    const timeNs = Number(view.getBigUint64(timeAt, true));
    const bytes = new Uint8Array(
      view.buffer.slice(view.byteOffset + offset, view.byteOffset + offset + size),
    );
    this.#since.push({ timeNs, bytes });
    this.#sizeBytes += size;
    if (view.getUint32(offset, true) === PERF_RECORD_MMAP2) this.#maps.add(this.#decode(bytes));
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

  /** The records since, in the form in which histories are merged. `sink` sees each of them. */
  recordsSince(sink: (record: PerfRecord) => void): StoppedHistory {
    this.#sort();
    for (const { bytes } of this.#since) sink(this.#decode(bytes));
    return stoppedRecords(this.#since);
  }
}
