/** OProfile's way: every overflow adds to the count of its process, mode and address; nothing else leaves the kernel. */
import { bpfStruct, r0, r2 } from '../../bpf/index.ts';
import { defineFormat } from '../format.ts';
import type { BucketCounts } from './buckets.ts';
import { countOverflow, TableReader, tableMaps, tableShape } from './count-table.ts';

/** A bucket. Kernel addresses are told apart by themselves. */
export const Key = bpfStruct({ address: 'u64', pid: 'u32', event: 'u32' });

/** Counts of one process at one address, of one CPU. */
export interface HistogramBucket extends BucketCounts {
  readonly event: number;
  readonly pid: number;
  readonly address: bigint;
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
      help: 'buckets that there is room for on each CPU, twice, of 32 bytes',
    },
    interval: {
      type: 'duration',
      default: 0,
      help: 'empty the buckets so often, not only when they are full and at the end',
    },
  },
  plan: ({ maxEntries }) => ({ maps: tableMaps(tableShape(Key, maxEntries)) }),
  onOverflow(asm, context) {
    const { event, options } = context;
    const key = asm.stack('key', Key);
    asm.loadContext(r2, 'ip');
    asm.store(key.fields.address, r2);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    countOverflow(asm, tableShape(Key, options.maxEntries), key, context);
  },
  async *collect(maps, { options, next, nowNs }): AsyncGenerator<readonly HistogramBucket[]> {
    using tables = new TableReader(maps, tableShape(Key, options.maxEntries));
    const { address, pid, event } = Key.fields;
    for (let isLast = false; !isLast; ) {
      const wake = await next(options.interval === 0 ? undefined : options.interval);
      if (wake === 'interval') tables.requestSwaps();
      isLast = wake === 'stopped';
      const timeNs = nowNs();
      yield* tables.take(isLast, (view, key, { cpu, samples, period }) => ({
        address: view.getBigUint64(key + address.offsetBytes, true),
        pid: view.getUint32(key + pid.offsetBytes, true),
        event: view.getUint32(key + event.offsetBytes, true),
        cpu,
        samples,
        period,
        timeNs,
      }));
    }
  },
  *toSamples(buckets) {
    for (const { event, pid, address, cpu, period, timeNs } of buckets)
      yield { event, ip: address, pid, tid: pid, cpu, timeNs, period };
  },
});
