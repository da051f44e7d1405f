/** Ordered records to a profile. */
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
} from '../ingest/index.ts';
export type { SourceMapFault, SourceMapsResult } from '../source-maps/index.ts';
