export { decodeBuildIdRecord, writeBuildIdRecord } from './build-id-features.ts';
export { decodeFeature } from './decode-features.ts';
export { encodeFeature, encodeFeatures } from './encode-features.ts';
export type {
  AuxIndexEntry,
  BuildIdEntry,
  CacheLevel,
  ClockData,
  CompressionFacts,
  CpuTopology,
  EventDescription,
  EventGroup,
  FeatureField,
  HybridPmu,
  MemoryTopology,
  NumaNode,
  PerfDataFeatures,
  PmuCapability,
  PmuMapping,
} from './perf-data-features.ts';
export { emptyFeatures } from './perf-data-features.ts';
