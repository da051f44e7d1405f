import { BPF_F_MMAPABLE } from '@counterpoint/core/abi';
import { type BpfMapDefinition, possibleCpus } from '../../kernel/bpf/index.ts';

/**
 * An array that both sides have in memory: reading it is no system call, which
 * would keep handlers from running.
 */
export function mappedArray(name: string, valueSizeBytes: number, maxEntries: number): BpfMapDefinition {
  return { name, type: 'array', keySizeBytes: 4, valueSizeBytes, maxEntries, flags: BPF_F_MMAPABLE };
}

/** For each CPU by its number, possible ones too: it may come online. */
export function cpuCount(): number {
  return Math.max(...possibleCpus()) + 1;
}
