import { type BpfAssembler, type BpfMapDefinition, r0, r1, u32 } from '../../kernel/bpf/index.ts';

/** Runs on each CPU since the last `n`-th, one count for each of `counts`. */
export function runCounts(name: string, counts: number): BpfMapDefinition {
  return { name, type: 'per-cpu-array', keySizeBytes: 4, valueSizeBytes: 4, maxEntries: counts };
}

/**
 * `then` at each `n`-th run on a CPU, `otherwise` at all others; `index` is the count among
 * those of the map. Loses r0 to r5.
 */
export function everyNth(
  asm: BpfAssembler,
  counts: BpfMapDefinition,
  index: number,
  n: number,
  then: () => void,
  otherwise: () => void = () => {},
): void {
  asm.mapLookup(counts, index);
  asm.ifNotNull(r0, () => {
    const count = u32(r0);
    asm.load(r1, count);
    asm.add(r1, 1);
    asm.if(
      r1,
      '>=',
      n,
      () => {
        asm.store(count, 0);
        then();
      },
      () => {
        asm.store(count, r1);
        otherwise();
      },
    );
  });
}
