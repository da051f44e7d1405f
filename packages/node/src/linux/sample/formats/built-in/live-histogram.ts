/** `histogram`, read while it counts: what was counted since the look before, in columns. */
import { Float64Column, Int32Column } from '@counterpoint/core/profile';
import { defineFormat } from '../format.ts';
import { tableShape } from './count-table.ts';
import histogram, { Key, ROW } from './histogram.ts';
import { TableReader } from './table-reader.ts';

/**
 * How long tables may take to be handed over, each at the next overflow of its CPU. What a CPU without
 * overflows has counted before comes with a later look, or with the last.
 */
const MOST_HANDOVER_MS = 20;

const HIGH_HALF = 2 ** 32;

/**
 * What was counted since the drain before, a row or a few for each process and address.
 * *Borrowed*: valid until the next one.
 */
export class HistogramDrain {
  /** The counters are stopped: there is no other after it. */
  isLast = false;
  /** Time that the reading took. */
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

  clear(): void {
    const columns = [this.event, this.pid, this.addressLo, this.addressHi, this.samples, this.period];
    for (const column of columns) column.length = 0;
    this.readNs = 0;
  }

  /** Add what was handed over. */
  take(tables: TableReader): void {
    const startedAt = performance.now();
    for (const { words, rowWords, count, places } of tables.take(this.isLast))
      for (let index = 0; index < count; index++) {
        const row = places[index]! * rowWords;
        this.event.push(words[row + ROW.event]!);
        this.pid.push(words[row + ROW.pid]!);
        this.addressLo.push(words[row + ROW.ip]!);
        this.addressHi.push(words[row + ROW.ip + 1]!);
        this.samples.push(words[row + ROW.samples]! + HIGH_HALF * words[row + ROW.samples + 1]!);
        this.period.push(words[row + ROW.period]! + HIGH_HALF * words[row + ROW.period + 1]!);
      }
    this.readNs += (performance.now() - startedAt) * 1e6;
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
    using tables = new TableReader(maps, tableShape(Key, options.maxEntries));
    const drain = new HistogramDrain();
    const takeUntil = async (endMs: number) => {
      for (let wake = 'notified'; wake === 'notified'; drain.take(tables)) {
        wake = await next(Math.max(0, endMs - performance.now()));
        drain.isLast = wake === 'stopped';
      }
    };
    const handoverMs = Math.min(MOST_HANDOVER_MS, options.interval / 4);
    let dueMs = performance.now();
    while (!drain.isLast) {
      // Time that the reader of the last drain took is part of the interval; whole intervals
      // that it took are left out.
      dueMs = Math.max(dueMs + options.interval, performance.now());
      drain.clear();
      await takeUntil(dueMs - handoverMs);
      if (!drain.isLast) {
        tables.requestSwaps();
        await takeUntil(Math.max(dueMs, performance.now() + handoverMs));
      }
      yield drain;
    }
  },
});
