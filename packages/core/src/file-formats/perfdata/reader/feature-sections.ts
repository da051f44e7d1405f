import type { ByteSource, DamageLog } from '../../../base/index.ts';
import { FEATURE_TRACING_DATA, featureName } from '../../../format/abi/index.ts';
import { MAX_TRACING_DATA_SIZE } from '../tracing-data/index.ts';
import type { FeatureSection } from './file-header.ts';
import { withoutOverlaps } from './sections.ts';

/**
 * Most bytes of all sections together, tracing data apart; they stay in memory. The largest real ones are the
 * index of hardware trace (16 bytes a piece), build ids and BPF programs: some megabytes.
 */
const MAX_FEATURE_BYTES = 128 << 20;

/**
 * Read the sections that share no bytes with another, as many as fit in memory, in order of their bits. The
 * rest is counted where the table names it.
 */
export async function readFeatureSections(
  source: ByteSource,
  sections: readonly FeatureSection[],
  damage: DamageLog,
  take: (bit: number, bytes: Uint8Array, fileOffset: number) => void,
): Promise<void> {
  const apart = withoutOverlaps(sections, ({ bit, entryOffset }) =>
    damage.add(`feature-overlap:${featureName(bit)}`, entryOffset),
  ).sort((a, b) => a.bit - b.bit);
  let left = MAX_FEATURE_BYTES;
  for (const { bit, offset, size, entryOffset } of apart) {
    const isTracing = bit === FEATURE_TRACING_DATA;
    if (size > (isTracing ? MAX_TRACING_DATA_SIZE : left)) {
      damage.add(`feature-too-large:${featureName(bit)}`, entryOffset);
      continue;
    }
    if (!isTracing) left -= size;
    take(bit, await source.read(offset, size), offset);
  }
}
