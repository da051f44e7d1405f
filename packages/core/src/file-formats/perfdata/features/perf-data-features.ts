import type { PerfEventAttr } from '../../../format/records/index.ts';

/**
 * What the feature sections of a perf.data file say about the machine and the recording. A field is there if
 * its section was. 64-bit values are bigint.
 */
export interface PerfDataFeatures {
  /** The name of the machine (HEADER_HOSTNAME). */
  hostname?: string;
  /** The kernel's release, as `uname -r` gives it (HEADER_OSRELEASE). */
  osRelease?: string;
  /** Version of the tool that recorded (HEADER_VERSION). */
  version?: string;
  /** The architecture, as `uname -m` gives it (HEADER_ARCH). */
  arch?: string;
  /** CPUs that were online (HEADER_NRCPUS). */
  cpusOnline?: number;
  /** Present CPUs, whether online or not (HEADER_NRCPUS). */
  cpusAvailable?: number;
  /** The model of the CPUs (HEADER_CPUDESC). */
  cpuDescription?: string;
  /** The CPU as a key; on x86 vendor, family, model and stepping: `GenuineIntel,6,85,7` (HEADER_CPUID). */
  cpuId?: string;
  /** Memory of the machine in KiB (HEADER_TOTAL_MEM). */
  totalMemoryKb?: bigint;
  /** The command line of the recorder, as words (HEADER_CMDLINE). */
  commandLine?: string[];
  /** The events with the names that they were given (HEADER_EVENT_DESC). */
  eventDescriptions?: EventDescription[];
  /** Which CPUs share a core, a die or a package (HEADER_CPU_TOPOLOGY). */
  cpuTopology?: CpuTopology;
  /** Nodes of memory and CPUs (HEADER_NUMA_TOPOLOGY). */
  numaTopology?: NumaNode[];
  /** Samples carry branch stacks. The section is empty (HEADER_BRANCH_STACK). */
  branchStack?: true;
  /** Names of PMUs by the type of their events (HEADER_PMU_MAPPINGS). */
  pmuMappings?: PmuMapping[];
  /** Groups of more than one event (HEADER_GROUP_DESC). */
  groups?: EventGroup[];
  /** Where the hardware traces stand in the file (HEADER_AUXTRACE). */
  auxIndex?: AuxIndexEntry[];
  /** Written by `perf stat record`. The section is empty (HEADER_STAT). */
  stat?: true;
  /** Caches of the CPUs (HEADER_CACHE). */
  caches?: CacheLevel[];
  /** Times of the first and the last sample, in nanoseconds (HEADER_SAMPLE_TIME). */
  sampleTime?: { first: bigint; last: bigint };
  /** Which blocks of memory belong to which node (HEADER_MEM_TOPOLOGY). */
  memoryTopology?: MemoryTopology;
  /** Resolution of the recording's clock, in nanoseconds (HEADER_CLOCKID). */
  clockIdResolutionNs?: bigint;
  /** Version of the directory layout, where the recording is a directory of files (HEADER_DIR_FORMAT). */
  dirFormat?: bigint;
  /** BPF programs that ran, as perf writes them (HEADER_BPF_PROG_INFO). */
  bpfProgInfo?: Uint8Array;
  /** Types of BPF programs, as perf writes them (HEADER_BPF_BTF). */
  bpfBtf?: Uint8Array;
  /** How records are compressed (HEADER_COMPRESSED). */
  compressed?: CompressionFacts;
  /** What the core's PMU can do (HEADER_CPU_PMU_CAPS). */
  cpuPmuCaps?: PmuCapability[];
  /** One moment on two clocks (HEADER_CLOCK_DATA). */
  clockData?: ClockData;
  /** PMUs of the kinds of cores (HEADER_HYBRID_TOPOLOGY). */
  hybridTopology?: HybridPmu[];
  /** What other PMUs can do (HEADER_PMU_CAPS). */
  pmuCaps?: { pmu: string; capabilities: PmuCapability[] }[];
  /** Scheduling domains of the CPUs, as perf writes them (HEADER_CPU_DOMAIN_INFO). */
  cpuDomainInfo?: Uint8Array;
  /** ELF machine and flags of the recorded programs (HEADER_E_MACHINE). */
  elfMachine?: { machine: number; flags: number };
  /** Bytes of a cache line (HEADER_CLN_SIZE). */
  cacheLineSize?: number;
  /** Binaries with samples and their build ids (HEADER_BUILD_ID). */
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

/** An event, as the recorder names it (HEADER_EVENT_DESC). */
export interface EventDescription {
  /** Its attr (`struct perf_event_attr`). */
  attr: PerfEventAttr;
  /** As the user wrote it. */
  name: string;
  /** The ids that its records carry. */
  ids: bigint[];
}

/** Which CPUs share a core, a die or a package (HEADER_CPU_TOPOLOGY). */
export interface CpuTopology {
  /** CPU lists such as `0-3`, one per package (socket). */
  packages: string[];
  /** CPU lists, one per core: the hardware threads that share it. */
  cores: string[];
  /** CPU lists, one per die; absent where perf is older than 5.3 or sysfs has no `die_cpus_list`. */
  dies?: string[];
  /** By CPU number; absent where perf is older than 4.4. */
  cpus?: { coreId: number; packageId: number; dieId?: number }[];
}

/** A node of memory and CPUs (HEADER_NUMA_TOPOLOGY). */
export interface NumaNode {
  /** Its number. */
  node: number;
  /** Its memory in KiB. */
  totalKb: bigint;
  /** How much of it was free, in KiB. */
  freeKb: bigint;
  /** CPU list such as `0-3,8`. */
  cpus: string;
}

/** A PMU and the type of its events. */
export interface PmuMapping {
  /** `attr.type` of its events. */
  type: number;
  /** The name of the PMU. */
  name: string;
}

/** A group of events (HEADER_GROUP_DESC). */
export interface EventGroup {
  /** The name that the user gave it; may be empty. */
  name: string;
  /** Index of the leader among the attrs. */
  leaderIndex: number;
  /** How many events it has, with the leader. */
  memberCount: number;
}

/** Where an AUXTRACE record stands in the file, and its size (HEADER_AUXTRACE). */
export interface AuxIndexEntry {
  /** Where the record stands in the file, in bytes. */
  offset: bigint;
  /** Its own size in bytes, 48 as a rule: without the trace, which follows it. */
  size: bigint;
}

/** A cache of the CPUs (HEADER_CACHE). */
export interface CacheLevel {
  /** 1 for what is nearest to the CPU. */
  level: number;
  /** Bytes of a line. */
  lineSize: number;
  /** How many sets it has. */
  sets: number;
  /** How many lines a set has. */
  ways: number;
  /** `Data`, `Instruction` or `Unified`. */
  type: string;
  /** Such as `32K`. */
  size: string;
  /** CPU list that shares it. */
  cpus: string;
}

/** Which blocks of memory belong to which node (HEADER_MEM_TOPOLOGY). */
export interface MemoryTopology {
  /** Size of a block. */
  blockSizeBytes: bigint;
  /** By node: a bitmap of its blocks, 64 bits a word. */
  nodes: { node: bigint; bitCount: bigint; words: bigint[] }[];
}

/** How records are compressed (HEADER_COMPRESSED). */
export interface CompressionFacts {
  /** Version of the section: 1. */
  version: number;
  /** 1 is zstd. */
  type: number;
  /** Level of the compressor. */
  level: number;
  /** Original size over compressed size, rounded. */
  ratio: number;
  /** Size of the recorder's rings: what is compressed at once is no larger. */
  mmapLength: number;
}

/** Something that a PMU can do, as sysfs has it (`caps/`). */
export interface PmuCapability {
  /** The name of the file, such as `max_precise`. */
  name: string;
  /** What stands in it. */
  value: string;
}

/** One moment on two clocks: the wall clock and the recording's. */
export interface ClockData {
  /** Version of the section: 1. */
  version: number;
  /** The clock, a number of clock_gettime(2). */
  clockId: number;
  /** Nanoseconds since 1970. */
  wallClockNs: bigint;
  /** The same moment on `clockId`, in nanoseconds. */
  clockIdTimeNs: bigint;
}

/** A PMU of one kind of core (HEADER_HYBRID_TOPOLOGY). */
export interface HybridPmu {
  /** Its name, such as `cpu_atom`. */
  pmu: string;
  /** CPU list such as `0-3,8`. */
  cpus: string;
}

/** A binary and its build id (HEADER_BUILD_ID). */
export interface BuildIdEntry {
  /** -1 for the host's kernel and programs, else a guest's. */
  pid: number;
  /** Flag bits of the record's header: the CPU mode, and whether the size was recorded. */
  misc: number;
  /** Lower-case hex. */
  buildId: string;
  /** The file, or a name such as `[kernel.kallsyms]`. */
  path: string;
}

export function emptyFeatures(): PerfDataFeatures {
  return { raw: new Map() };
}
