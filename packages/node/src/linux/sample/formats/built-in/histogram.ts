/**
 * OProfile's way: every overflow adds to the count of its process, mode and address;
 * nothing else leaves the kernel.
 */
import { bpfStruct, r0 } from '../../../kernel/bpf/index.ts';
import { defineFormat } from '../format.ts';
import { batchMap, countInBatch } from './count-batch.ts';
import { countsAt, placesIn, type TakenTable, tableMaps, tableShape } from './count-table.ts';
import { storePlace } from './overflow-place.ts';
import { TableReader } from './table-reader.ts';

/** A bucket. Kernel addresses are told apart by themselves. */
export const Key = bpfStruct({ address: 'u64', pid: 'u32', event: 'u32' });

export const ROW = { ...placesIn(Key), ...countsAt(Key) } as const;

/** Counts of one CPU, by process and address. */
export interface HistogramTable extends TakenTable {
  readonly timeNs: bigint;
}

export default defineFormat({
  name: 'histogram',
  version: 1,
  summary: 'counts by process and address, added up in the kernel',
  options: {
    maxEntries: {
      type: 'count',
      default: 32_768,
      min: 1,
      max: 1 << 24,
      help: 'room for N buckets of 44 bytes, twice, on each CPU',
    },
    interval: {
      type: 'duration',
      default: 0,
      help: 'also empty the buckets at this interval; 0: only when they are full and at the end',
    },
  },
  history: { interval: 1000, maxEntries: 4096 },
  plan({ maxEntries }) {
    const shape = tableShape(Key, maxEntries);
    return { maps: [...tableMaps(shape), batchMap(shape)] };
  },
  onOverflow(asm, context) {
    const { event, options } = context;
    const key = asm.stack('key', Key);
    storePlace(asm, context, key.fields.address);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    countInBatch(asm, tableShape(Key, options.maxEntries), key, context);
  },
  async *collect(maps, { options, next, nowNs }): AsyncGenerator<HistogramTable> {
    using tables = new TableReader(maps, tableShape(Key, options.maxEntries));
    for (let isLast = false; !isLast; ) {
      const wake = await next(options.interval === 0 ? undefined : options.interval);
      if (wake === 'interval') tables.requestSwaps();
      isLast = wake === 'stopped';
      const timeNs = nowNs();
      for (const table of tables.take(isLast || wake === 'paused')) yield { ...table, timeNs };
    }
  },
  toRows: (table) => ({ ...table, at: ROW }),
});
