import { PERF_RECORD_LOST_SAMPLES, PERF_RECORD_MISC_LOST_SAMPLES_ENTRY } from '../../../format/abi/index.ts';
import { encodeLossEntry, type LossEntry, type LossKind } from '../../../format/loss/index.ts';
import type { LostSamplesRecord, SampleId } from '../../../format/records/index.ts';

/** Whole samples are missing: perf counts these, too. */
const WHOLE_SAMPLES: ReadonlySet<LossKind> = new Set([
  'format-map-full',
  'format-ring-full',
  'format-skipped',
  'format-while-suspended',
  'record-damaged',
]);

/**
 * An entry of the ledger as a record that perf reads as a count of lost samples:
 *
 *   | header, misc: ENTRY | lost, 8 | entry as JSON, blanks up to a multiple of 8 | sample id |
 */
export function lossEntryRecord(entry: LossEntry, sampleId: SampleId): LostSamplesRecord {
  return {
    type: PERF_RECORD_LOST_SAMPLES,
    misc: PERF_RECORD_MISC_LOST_SAMPLES_ENTRY,
    lost: WHOLE_SAMPLES.has(entry.kind) ? BigInt(entry.count) : 0n,
    tail: encodeLossEntry(entry),
    sampleId,
  };
}
