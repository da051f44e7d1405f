/** Counts under keys in a per-CPU hash: what `histogram` and `stacks` have in common. */
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type MemoryOperand,
  type Register,
  r0,
  r2,
  type StructFields,
  type StructLayout,
} from '../../bpf/index.ts';
import type { ProgramContext } from '../format.ts';

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

/** Add an overflow of that many events under a key, and end: the kernel's own record is left out. `period` survives calls. */
export function countOverflow(
  asm: BpfAssembler,
  buckets: BpfMapDefinition,
  key: MemoryOperand,
  period: Register,
  countLoss: ProgramContext['countLoss'],
): void {
  const fresh = asm.stack('fresh', Bucket);
  asm.mapLookup(buckets, key);
  asm.ifNotNull(r0, () => {
    const value = Bucket.at(r0);
    asm.move(r2, 1);
    asm.atomicAdd(value.samples, r2);
    asm.atomicAdd(value.period, period);
    asm.dropRecord();
  });
  asm.store(fresh.fields.samples, 1);
  asm.store(fresh.fields.period, period);
  asm.mapUpdate(buckets, key, fresh);
  asm.if(r0, '!=', 0, () => countLoss('map-full'));
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
