/**
 * Counts under keys in a per-CPU hash of the kernel: for programs that may interrupt each other
 * (`count-table.ts` is quicker).
 */
import {
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type StructFields,
  type StructLayout,
} from '../../../kernel/bpf/index.ts';

/** What is kept under a key. */
export const Bucket = bpfStruct({ samples: 'u64', period: 'u64' });

/** What was counted under a key on one CPU. */
export interface BucketCounts {
  readonly cpu: number;
  readonly samples: bigint;
  readonly period: bigint;
}

export function bucketMap(key: StructLayout<StructFields>, maxEntries: number): BpfMapDefinition {
  return {
    name: 'buckets',
    type: 'per-cpu-hash',
    keySizeBytes: key.sizeBytes,
    valueSizeBytes: Bucket.sizeBytes,
    maxEntries,
  };
}

/** Every key with what one CPU counted under it, batch by batch; they are counted anew from then on. */
export function* takeBuckets<const Fields extends StructFields>(
  buckets: BpfMap,
  layout: StructLayout<Fields>,
  cpus: readonly number[],
): Generator<{ key: ReturnType<StructLayout<Fields>['read']>; counts: BucketCounts }[]> {
  for (const { count, keys, values } of buckets.batches('lookup-and-delete')) {
    const taken = [];
    const view = new DataView(values.buffer);
    for (let index = 0; index < count; index++) {
      const key = layout.read(keys, index * layout.sizeBytes);
      for (let copy = 0; copy < cpus.length; copy++) {
        const at = index * buckets.valueBytes + copy * buckets.strideBytes;
        const samples = view.getBigUint64(at + Bucket.fields.samples.offsetBytes, true);
        if (samples === 0n) continue;
        const period = view.getBigUint64(at + Bucket.fields.period.offsetBytes, true);
        taken.push({ key, counts: { cpu: cpus[copy]!, samples, period } });
      }
    }
    yield taken;
  }
}
