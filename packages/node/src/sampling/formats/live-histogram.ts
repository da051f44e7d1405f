/** `histogram` for who looks while it counts: what is in the buckets at each drain, in columns. */
import { Float64Column, Int32Column } from '@counterpoint/core/profile';
import type { BpfMap } from '../../bpf/index.ts';
import { defineFormat } from '../format.ts';
import { Bucket } from './buckets.ts';
import histogram, { Key } from './histogram.ts';

/** What was counted since the drain before, one row for each process and address. *Borrowed*: valid until the next one. */
export class HistogramDrain {
  /** The counters are stopped: there is no other after it. */
  isLast = false;
  /** Time in which the buckets were read: on the CPU that read them no overflow was counted meanwhile. */
  readNs = 0;
  readonly event = new Int32Column();
  readonly pid = new Int32Column();
  readonly addressLo = new Int32Column();
  readonly addressHi = new Int32Column();
  readonly samples = new Float64Column();
  readonly period = new Float64Column();

  get length(): number {
    return this.event.length;
  }

  take(buckets: BpfMap): void {
    const columns = [this.event, this.pid, this.addressLo, this.addressHi, this.samples, this.period];
    for (const column of columns) column.length = 0;
    const startedAt = performance.now();
    for (const { count, keys, values } of buckets.batches('lookup-and-delete'))
      this.#add(count, keys, values, buckets);
    this.readNs = (performance.now() - startedAt) * 1e6;
  }

  #add(
    count: number,
    keys: Uint8Array<ArrayBuffer>,
    values: Uint8Array<ArrayBuffer>,
    { copies, strideBytes }: BpfMap,
  ): void {
    const { address, pid, event } = Key.fields;
    const key = new DataView(keys.buffer, keys.byteOffset);
    // Counts of one drain are below 2^53; as float64 they are added up without an object for each.
    const counts = new BigUint64Array(values.buffer, values.byteOffset, values.byteLength >> 3);
    const stride = strideBytes >> 3;
    const [samplesAt, periodAt] = [
      Bucket.fields.samples.offsetBytes >> 3,
      Bucket.fields.period.offsetBytes >> 3,
    ];
    for (let row = 0; row < count; row++) {
      const at = row * Key.sizeBytes;
      this.event.push(key.getInt32(at + event.offsetBytes, true));
      this.pid.push(key.getInt32(at + pid.offsetBytes, true));
      this.addressLo.push(key.getInt32(at + address.offsetBytes, true));
      this.addressHi.push(key.getInt32(at + address.offsetBytes + 4, true));
      let samples = 0;
      let period = 0;
      for (let copy = 0, word = row * copies * stride; copy < copies; copy++, word += stride) {
        samples += Number(counts[word + samplesAt]);
        period += Number(counts[word + periodAt]);
      }
      this.samples.push(samples);
      this.period.push(period);
    }
  }
}

export const liveHistogram = defineFormat({
  name: 'histogram',
  version: histogram.version,
  summary: histogram.summary,
  options: { ...histogram.options, interval: { ...histogram.options.interval, default: 2000, min: 1 } },
  plan: (options, target) => histogram.plan(options, target),
  onOverflow: (asm, context) => histogram.onOverflow!(asm, context),
  async *collect(maps, { options, next }): AsyncGenerator<HistogramDrain> {
    const buckets = maps.get('buckets')!;
    const drain = new HistogramDrain();
    let dueMs = performance.now();
    while (!drain.isLast) {
      // Time that the reader of the last drain took is part of the interval; whole intervals that it took are left out.
      dueMs = Math.max(dueMs + options.interval, performance.now());
      drain.isLast = (await next(dueMs - performance.now())) === 'stopped';
      drain.take(buckets);
      yield drain;
    }
  },
});
