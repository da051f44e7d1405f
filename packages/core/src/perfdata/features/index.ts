export { decodeBuildIdRecord, writeBuildIdRecord } from './build-id-features.ts';
export { decodeFeature, encodeFeature, encodeFeatures } from './features.ts';
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
