import type { DamageLog } from '../../../base/index.ts';
import {
  FEATURE_ARCH,
  FEATURE_AUXTRACE,
  FEATURE_BPF_BTF,
  FEATURE_BPF_PROG_INFO,
  FEATURE_BRANCH_STACK,
  FEATURE_BUILD_ID,
  FEATURE_CACHE,
  FEATURE_CLN_SIZE,
  FEATURE_CLOCK_DATA,
  FEATURE_CLOCKID,
  FEATURE_CMDLINE,
  FEATURE_COMPRESSED,
  FEATURE_CPU_DOMAIN_INFO,
  FEATURE_CPU_PMU_CAPS,
  FEATURE_CPU_TOPOLOGY,
  FEATURE_CPUDESC,
  FEATURE_CPUID,
  FEATURE_DIR_FORMAT,
  FEATURE_E_MACHINE,
  FEATURE_EVENT_DESC,
  FEATURE_GROUP_DESC,
  FEATURE_HOSTNAME,
  FEATURE_HYBRID_TOPOLOGY,
  FEATURE_MEM_TOPOLOGY,
  FEATURE_NRCPUS,
  FEATURE_NUMA_TOPOLOGY,
  FEATURE_OSRELEASE,
  FEATURE_PMU_CAPS,
  FEATURE_PMU_MAPPINGS,
  FEATURE_SAMPLE_TIME,
  FEATURE_STAT,
  FEATURE_TOTAL_MEM,
  FEATURE_VERSION,
} from '../../../format/abi/index.ts';
import { readBuildIds } from './build-id-features.ts';
import { readEventDescriptions, readGroups } from './event-features.ts';
import { type FeatureRead, readBytes, readFlag, readText, readU64 } from './feature-codec.ts';
import { FeatureReader } from './feature-reader.ts';
import { readCacheLineSize, readCommandLine, readCpuCounts, readElfMachine } from './machine-features.ts';
import type { PerfDataFeatures } from './perf-data-features.ts';
import { readCpuPmuCaps, readPmuCaps, readPmuMappings } from './pmu-features.ts';
import { readAuxIndex, readClockData, readCompressed, readSampleTime } from './recording-features.ts';
import {
  readCaches,
  readCpuTopology,
  readHybridTopology,
  readMemoryTopology,
  readNumaTopology,
} from './topology-features.ts';

/** The sections that are understood, by feature bit. TRACING_DATA is read by its own room. */
export const FEATURE_READS: ReadonlyMap<number, FeatureRead> = /* @__PURE__ */ featureReads();

function featureReads(): Map<number, FeatureRead> {
  return new Map<number, FeatureRead>([
    [FEATURE_BUILD_ID, readBuildIds],
    [FEATURE_HOSTNAME, readText('hostname')],
    [FEATURE_OSRELEASE, readText('osRelease')],
    [FEATURE_VERSION, readText('version')],
    [FEATURE_ARCH, readText('arch')],
    [FEATURE_NRCPUS, readCpuCounts],
    [FEATURE_CPUDESC, readText('cpuDescription')],
    [FEATURE_CPUID, readText('cpuId')],
    [FEATURE_TOTAL_MEM, readU64('totalMemoryKb')],
    [FEATURE_CMDLINE, readCommandLine],
    [FEATURE_EVENT_DESC, readEventDescriptions],
    [FEATURE_CPU_TOPOLOGY, readCpuTopology],
    [FEATURE_NUMA_TOPOLOGY, readNumaTopology],
    [FEATURE_BRANCH_STACK, readFlag('branchStack')],
    [FEATURE_PMU_MAPPINGS, readPmuMappings],
    [FEATURE_GROUP_DESC, readGroups],
    [FEATURE_AUXTRACE, readAuxIndex],
    [FEATURE_STAT, readFlag('stat')],
    [FEATURE_CACHE, readCaches],
    [FEATURE_SAMPLE_TIME, readSampleTime],
    [FEATURE_MEM_TOPOLOGY, readMemoryTopology],
    [FEATURE_CLOCKID, readU64('clockIdResolutionNs')],
    [FEATURE_DIR_FORMAT, readU64('dirFormat')],
    [FEATURE_BPF_PROG_INFO, readBytes('bpfProgInfo')],
    [FEATURE_BPF_BTF, readBytes('bpfBtf')],
    [FEATURE_COMPRESSED, readCompressed],
    [FEATURE_CPU_PMU_CAPS, readCpuPmuCaps],
    [FEATURE_CLOCK_DATA, readClockData],
    [FEATURE_HYBRID_TOPOLOGY, readHybridTopology],
    [FEATURE_PMU_CAPS, readPmuCaps],
    [FEATURE_CPU_DOMAIN_INFO, readBytes('cpuDomainInfo')],
    [FEATURE_E_MACHINE, readElfMachine],
    [FEATURE_CLN_SIZE, readCacheLineSize],
  ]);
}

/**
 * Read the section of feature `bit` into `into`: its fields as far as they could be read, and its bytes
 * (kept, not copied). Never throws; what is wrong is counted as `bad-feature` at `fileOffset`. NRCPUS must
 * come before CPU_TOPOLOGY, as it does in every file.
 */
export function decodeFeature(
  bit: number,
  bytes: Uint8Array,
  littleEndian: boolean,
  into: PerfDataFeatures,
  damage: DamageLog,
  fileOffset: number,
): void {
  into.raw.set(bit, bytes);
  into.rawLittleEndian = littleEndian;
  const read = FEATURE_READS.get(bit);
  if (read === undefined) return;
  const reader = new FeatureReader(bytes, littleEndian);
  read(reader, into);
  if (reader.damaged) damage.add('bad-feature', fileOffset);
}
