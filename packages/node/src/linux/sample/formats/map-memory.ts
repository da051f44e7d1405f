import { type BpfMapDefinition, possibleCpus } from '../../kernel/bpf/index.ts';

const roundUp = (bytes: number) => Math.ceil(bytes / 8) * 8;

/** What the kernel takes for maps at once when they are made. */
export function mapMemoryBytes(maps: readonly BpfMapDefinition[]): number {
  return maps.reduce((sum, map) => sum + bytesOf(map), 0);
}

function bytesOf({ type, keySizeBytes, valueSizeBytes, maxEntries }: BpfMapDefinition): number {
  if (type === 'ring-buffer') return maxEntries;
  const copies = type.includes('per-cpu') ? possibleCpus().length : 1;
  const keyBytes = type.includes('hash') ? roundUp(keySizeBytes) : 0;
  return maxEntries * (keyBytes + copies * roundUp(valueSizeBytes));
}
