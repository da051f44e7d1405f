/** Ordered records to a profile. */

export type { SourceMapFault, SourceMapsResult } from '../code/source-maps/index.ts';
export {
  type FramelessFunctions,
  type IngestOptions,
  type IngestResult,
  ingestPerfData,
  RunningProfile,
  type SampleFilter,
  type SamplePlaces,
  type SampleTexts,
  type TimeRange,
  type WalkedSample,
} from '../profile/ingest/index.ts';
