/** Ordered records to a profile. */

export type {
  SourceMapFault,
  SourceMapsResult,
} from '../code/source-maps/index.ts';
export {
  type FramelessFunctions,
  type IngestOptions,
  type IngestResult,
  ingestPerfData,
  type SampleFilter,
  type SamplePlaces,
  type SampleTexts,
  type TimeRange,
  type WalkedSample,
} from '../profile/ingest/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export { RunningProfile } from '../profile/ingest/index.ts';
