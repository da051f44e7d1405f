/** OProfile's way: every overflow adds to the count of its process, mode and address; nothing else leaves the kernel. */
import { type BpfMapDefinition, bpfStruct, r0, r2, r7 } from '../../bpf/index.ts';
import { defineFormat } from '../format.ts';

/** A bucket. Kernel addresses are told apart by themselves. */
const Key = bpfStruct({ address: 'u64', pid: 'u32', event: 'u32' });
const Value = bpfStruct({ samples: 'u64', period: 'u64' });

const bucketMap = (maxEntries: number): BpfMapDefinition => ({
  name: 'buckets',
  type: 'per-cpu-hash',
  keySizeBytes: Key.sizeBytes,
  valueSizeBytes: Value.sizeBytes,
  maxEntries,
});

/** Counts of one process at one address, of one CPU. */
export interface HistogramBucket {
  readonly event: number;
  readonly pid: number;
  readonly address: bigint;
  readonly cpu: number;
  readonly samples: bigint;
  readonly period: bigint;
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
  plan: ({ maxEntries }) => ({ maps: [bucketMap(maxEntries)] }),
  onOverflow(asm, { event, options, countLoss }) {
    const buckets = bucketMap(options.maxEntries);
    const key = asm.stack('key', Key);
    const fresh = asm.stack('fresh', Value);
    asm.loadContext(r2, 'ip');
    asm.store(key.fields.address, r2);
    asm.loadProcessId(r0);
    asm.store(key.fields.pid, r0);
    asm.store(key.fields.event, event);
    asm.loadContext(r7, 'samplePeriod');
    asm.mapLookup(buckets, key);
    asm.ifNotNull(r0, () => {
      const value = Value.at(r0);
      asm.move(r2, 1);
      asm.atomicAdd(value.samples, r2);
      asm.atomicAdd(value.period, r7);
      asm.dropRecord();
    });
    asm.store(fresh.fields.samples, 1);
    asm.store(fresh.fields.period, r7);
    asm.mapUpdate(buckets, key, fresh);
    asm.if(r0, '!=', 0, () => countLoss('map-full'));
  },
  async *collect(maps, { cpus, options, next, nowNs }): AsyncGenerator<HistogramBucket> {
    const buckets = maps.get('buckets')!;
    for (let isLast = false; !isLast; ) {
      isLast = (await next(options.interval === 0 ? undefined : options.interval)) === 'stopped';
      const timeNs = nowNs();
      for (const { count, keys, values } of buckets.batches('lookup-and-delete'))
        for (let index = 0; index < count; index++) {
          const { address, pid, event } = Key.read(keys, index * Key.sizeBytes);
          for (const [copy, cpu] of cpus.entries()) {
            const at = index * buckets.valueBytes + copy * buckets.strideBytes;
            const { samples, period } = Value.read(values, at);
            if (samples > 0n) yield { event, pid, address, cpu, samples, period, timeNs };
          }
        }
    }
  },
  *toSamples({ event, pid, address, cpu, period, timeNs }) {
    yield { event, ip: address, pid, tid: pid, cpu, timeNs, period };
  },
});
