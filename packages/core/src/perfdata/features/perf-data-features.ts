import type { PerfEventAttr } from '../../records/index.ts';

/**
 * What the feature sections of a perf.data file say about the machine and the recording. A field is there if
 * its section was. 64-bit values are bigint.
 */
export interface PerfDataFeatures {
  hostname?: string;
  osRelease?: string;
  /** Version of the tool that recorded. */
  version?: string;
  arch?: string;
  cpusOnline?: number;
  /** Present CPUs, whether online or not. */
  cpusAvailable?: number;
  cpuDescription?: string;
  cpuId?: string;
  totalMemoryKb?: bigint;
  commandLine?: string[];
  eventDescriptions?: EventDescription[];
  cpuTopology?: CpuTopology;
  numaTopology?: NumaNode[];
  /** Samples carry branch stacks. The section is empty. */
  branchStack?: true;
  pmuMappings?: PmuMapping[];
  groups?: EventGroup[];
  auxIndex?: AuxIndexEntry[];
  /** Written by `perf stat record`. The section is empty. */
  stat?: true;
  caches?: CacheLevel[];
  sampleTime?: { first: bigint; last: bigint };
  memoryTopology?: MemoryTopology;
  clockIdResolutionNs?: bigint;
  /** Version of the directory layout, where the recording is a directory of files. */
  dirFormat?: bigint;
  bpfProgInfo?: Uint8Array;
  bpfBtf?: Uint8Array;
  compressed?: CompressionFacts;
  cpuPmuCaps?: PmuCapability[];
  clockData?: ClockData;
  hybridTopology?: HybridPmu[];
  pmuCaps?: { pmu: string; capabilities: PmuCapability[] }[];
  cpuDomainInfo?: Uint8Array;
  /** ELF machine and flags of the recorded programs. */
  elfMachine?: { machine: number; flags: number };
  cacheLineSize?: number;
  buildIds?: BuildIdEntry[];
  /**
   * Every section as its bytes by feature bit, known or not, vendors' bits and TRACING_DATA too. A section
   * whose field was not changed is written back from here, byte for byte.
   */
  raw: Map<number, Uint8Array>;
  /** Byte order of `raw`, once something was read. */
  rawLittleEndian?: boolean;
}

/** The features that are understood, by name. */
export type FeatureField = Exclude<keyof PerfDataFeatures, 'raw' | 'rawLittleEndian'>;

export interface EventDescription {
  attr: PerfEventAttr;
  /** As the user wrote it. */
  name: string;
  ids: bigint[];
}

export interface CpuTopology {
  /** CPU lists such as `0-3`, one per package (socket). */
  packages: string[];
  /** CPU lists, one per core: the hardware threads that share it. */
  cores: string[];
  /** CPU lists, one per die; absent before Linux 5.2 and where a package has one die. */
  dies?: string[];
  /** By CPU number; absent before Linux 4.4. */
  cpus?: { coreId: number; packageId: number; dieId?: number }[];
}

export interface NumaNode {
  node: number;
  totalKb: bigint;
  freeKb: bigint;
  /** CPU list such as `0-3,8`. */
  cpus: string;
}

export interface PmuMapping {
  /** `attr.type` of its events. */
  type: number;
  name: string;
}

export interface EventGroup {
  name: string;
  /** Index of the leader among the attrs. */
  leaderIndex: number;
  memberCount: number;
}

/** Where an AUXTRACE record stands in the file, and its size. */
export interface AuxIndexEntry {
  offset: bigint;
  size: bigint;
}

export interface CacheLevel {
  level: number;
  lineSize: number;
  sets: number;
  ways: number;
  /** `Data`, `Instruction` or `Unified`. */
  type: string;
  /** Such as `32K`. */
  size: string;
  /** CPU list that shares it. */
  cpus: string;
}

export interface MemoryTopology {
  blockSizeBytes: bigint;
  nodes: { node: bigint; bitCount: bigint; words: bigint[] }[];
}

export interface CompressionFacts {
  version: number;
  /** 1 is zstd. */
  type: number;
  level: number;
  /** Original size over compressed size, rounded. */
  ratio: number;
  mmapLength: number;
}

export interface PmuCapability {
  name: string;
  value: string;
}

/** One moment on two clocks: the wall clock and the recording's. */
export interface ClockData {
  version: number;
  clockId: number;
  wallClockNs: bigint;
  clockIdTimeNs: bigint;
}

export interface HybridPmu {
  pmu: string;
  cpus: string;
}

export interface BuildIdEntry {
  /** -1 for the host's kernel and programs, else a guest's. */
  pid: number;
  /** Flag bits of the record's header: the CPU mode, and whether the size was recorded. */
  misc: number;
  /** Lower-case hex. */
  buildId: string;
  path: string;
}

export function emptyFeatures(): PerfDataFeatures {
  return { raw: new Map() };
}
