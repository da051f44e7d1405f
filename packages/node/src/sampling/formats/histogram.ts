/** OProfile's way: every overflow adds to the count of its process, mode and address; nothing else leaves the kernel. */
import { bpfStruct, r0, r2, r7 } from '../../bpf/index.ts';
import { defineFormat } from '../format.ts';
import { type BucketCounts, bucketMap, countOverflow, takeBuckets } from './buckets.ts';

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
      default: 65_536,
      min: 1,
      max: 1 << 24,
      help: 'buckets that there is room for',
    },
    interval: {
      type: 'duration',
      default: 0,
      help: 'empty the buckets so often (while they are read some overflows are missed); 0: at the end only',
    },
  },
  plan: ({ maxEntries }) => ({ maps: [bucketMap(Key, maxEntries)] }),
  onOverflow(asm, { event, options, countLoss }) {
    const key = asm.stack('key', Key);
    asm.loadContext(r2, 'ip');
    asm.store(key.fields.address, r2);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    asm.loadContext(r7, 'samplePeriod');
    countOverflow(asm, bucketMap(Key, options.maxEntries), key, r7, countLoss);
  },
  async *collect(maps, { cpus, options, next, nowNs }): AsyncGenerator<readonly HistogramBucket[]> {
    const buckets = maps.get('buckets')!;
    for (let isLast = false; !isLast; ) {
      isLast = (await next(options.interval === 0 ? undefined : options.interval)) === 'stopped';
      const timeNs = nowNs();
      for (const taken of takeBuckets(buckets, Key, cpus))
        yield taken.map(({ key, counts }) => ({ ...key, ...counts, timeNs }));
    }
  },
  *toSamples(buckets) {
    for (const { event, pid, address, cpu, period, timeNs } of buckets)
      yield { event, ip: address, pid, tid: pid, cpu, timeNs, period };
  },
});
