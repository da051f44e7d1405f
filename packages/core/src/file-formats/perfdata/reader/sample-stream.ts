import { type DamageLog, hiOf, loOf, TWO_32 } from '../../../base/index.ts';
import { PERF_FORMAT_GROUP, PERF_SAMPLE_PERIOD, PERF_SAMPLE_READ } from '../../../format/abi/index.ts';
import {
  type CounterValue,
  decodeReadValues,
  decodeSampleInto,
  SampleFields,
} from '../../../format/records/index.ts';
import type { EventTable, RecordedEvent } from './event-table.ts';

/** Called for each sample; everything is borrowed until it returns. Period in unsigned halves. */
export type OnSample = (
  event: RecordedEvent,
  fields: SampleFields,
  periodLo: number,
  periodHi: number,
) => void;

/** Called once for each sample record, before its samples. */
export type OnSampleParts = (
  view: DataView,
  event: RecordedEvent,
  fields: SampleFields,
  littleEndian: boolean,
) => void;

const NO_TID = -1;

/**
 * Samples as perf counts them. A sample record is one sample, unless it carries counter values
 * (PERF_SAMPLE_READ): then it stands for one sample of each counter in it that has moved, with
 * the difference as its period.
 */
export class SampleStream {
  readonly #fields = new SampleFields();
  readonly #events: EventTable;
  readonly #damage: DamageLog;
  readonly #le: boolean;
  readonly #onSample: OnSample;
  readonly #onParts: OnSampleParts;
  /** Last value of each counter, by id (and thread where values are per thread). */
  readonly #lastValues = new Map<string, bigint>();

  constructor(
    events: EventTable,
    damage: DamageLog,
    littleEndian: boolean,
    onSample: OnSample,
    onParts: OnSampleParts,
  ) {
    this.#events = events;
    this.#damage = damage;
    this.#le = littleEndian;
    this.#onSample = onSample;
    this.#onParts = onParts;
  }

  /** A PERF_RECORD_SAMPLE at `[start, end)`. */
  sample(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    const event = this.#events.eventOf(view, start, end, type, this.#le);
    if (event === null) {
      this.#damage.add('unknown-event-id', fileOffset);
      return;
    }
    const { layout } = event;
    const fields = this.#fields;
    if (!decodeSampleInto(view, start, end, layout, this.#le, fields)) {
      this.#damage.add('short-sample', fileOffset);
      return;
    }
    this.#onParts(view, event, fields, this.#le);
    if ((layout.sampleType & PERF_SAMPLE_READ) !== 0) {
      this.#counterSamples(view, end, event, fileOffset);
      return;
    }
    if ((layout.sampleType & PERF_SAMPLE_PERIOD) !== 0) {
      this.#onSample(event, fields, fields.periodLo, fields.periodHi);
    } else {
      const period = event.attr.samplePeriodOrFreq;
      this.#onSample(event, fields, loOf(period), hiOf(period));
    }
  }

  #counterSamples(view: DataView, end: number, event: RecordedEvent, fileOffset: number): void {
    const { readFormat } = event.layout;
    const read = decodeReadValues(view, this.#fields.readOffset, end, readFormat, this.#le);
    if (read === null) {
      this.#damage.add('short-sample', fileOffset);
      return;
    }
    const isGroup = (readFormat & PERF_FORMAT_GROUP) !== 0;
    // Inherited counters that are read count per thread.
    const tid = event.attr.flags.inherit !== 0 ? this.#fields.tid : NO_TID;
    for (const counter of isGroup ? read.values : read.values.slice(0, 1))
      this.#counterSample(counter, tid, fileOffset);
  }

  #counterSample(counter: CounterValue, tid: number, fileOffset: number): void {
    const id = counter.id ?? 0n;
    const event = this.#events.findId(Number(id));
    if (event === null) {
      this.#damage.add('unknown-event-id', fileOffset);
      return;
    }
    const key = tid === NO_TID ? id.toString() : `${id}/${tid}`;
    const last = this.#lastValues.get(key) ?? 0n;
    // Where values are per thread, one that went back belongs to a new thread that has the id of an old one.
    const before = tid !== NO_TID && counter.value < last ? 0n : last;
    const period = BigInt.asUintN(64, counter.value - before);
    this.#lastValues.set(key, counter.value);
    if (period === 0n) return;
    this.#fields.idLo = loOf(id);
    this.#fields.idHi = hiOf(id);
    this.#onSample(event, this.#fields, loOf(period), hiOf(period));
  }
}

/** A time as nanoseconds since `base`, exact while the recording is shorter than 104 days. */
export function relativeNs(lo: number, hi: number, base: { lo: number; hi: number }): number {
  return (hi - base.hi) * TWO_32 + (lo - base.lo);
}
