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
import { BodyWriter } from '../../../format/records/index.ts';
import { buildIdsWriter } from './build-id-features.ts';
import { FEATURE_READS } from './decode-features.ts';
import { eventDescriptionsWriter, groupsWriter } from './event-features.ts';
import { bytesWriter, type FeatureWriter, flagWriter, textWriter, u64Writer } from './feature-codec.ts';
import { FeatureReader } from './feature-reader.ts';
import {
  cacheLineSizeWriter,
  commandLineWriter,
  cpuCountsWriter,
  elfMachineWriter,
} from './machine-features.ts';
import { emptyFeatures, type PerfDataFeatures } from './perf-data-features.ts';
import { cpuPmuCapsWriter, pmuCapsWriter, pmuMappingsWriter } from './pmu-features.ts';
import { auxIndexWriter, clockDataWriter, compressedWriter, sampleTimeWriter } from './recording-features.ts';
import {
  cachesWriter,
  cpuTopologyWriter,
  hybridTopologyWriter,
  memoryTopologyWriter,
  numaTopologyWriter,
} from './topology-features.ts';

/** How each section is written, by feature bit: those that `decodeFeature` understands. */
const FEATURE_WRITERS: ReadonlyMap<number, FeatureWriter> = /* @__PURE__ */ featureWriters();

function featureWriters(): Map<number, FeatureWriter> {
  return new Map<number, FeatureWriter>([
    [FEATURE_BUILD_ID, buildIdsWriter],
    [FEATURE_HOSTNAME, textWriter('hostname')],
    [FEATURE_OSRELEASE, textWriter('osRelease')],
    [FEATURE_VERSION, textWriter('version')],
    [FEATURE_ARCH, textWriter('arch')],
    [FEATURE_NRCPUS, cpuCountsWriter],
    [FEATURE_CPUDESC, textWriter('cpuDescription')],
    [FEATURE_CPUID, textWriter('cpuId')],
    [FEATURE_TOTAL_MEM, u64Writer('totalMemoryKb')],
    [FEATURE_CMDLINE, commandLineWriter],
    [FEATURE_EVENT_DESC, eventDescriptionsWriter],
    [FEATURE_CPU_TOPOLOGY, cpuTopologyWriter],
    [FEATURE_NUMA_TOPOLOGY, numaTopologyWriter],
    [FEATURE_BRANCH_STACK, flagWriter('branchStack')],
    [FEATURE_PMU_MAPPINGS, pmuMappingsWriter],
    [FEATURE_GROUP_DESC, groupsWriter],
    [FEATURE_AUXTRACE, auxIndexWriter],
    [FEATURE_STAT, flagWriter('stat')],
    [FEATURE_CACHE, cachesWriter],
    [FEATURE_SAMPLE_TIME, sampleTimeWriter],
    [FEATURE_MEM_TOPOLOGY, memoryTopologyWriter],
    [FEATURE_CLOCKID, u64Writer('clockIdResolutionNs')],
    [FEATURE_DIR_FORMAT, u64Writer('dirFormat')],
    [FEATURE_BPF_PROG_INFO, bytesWriter('bpfProgInfo')],
    [FEATURE_BPF_BTF, bytesWriter('bpfBtf')],
    [FEATURE_COMPRESSED, compressedWriter],
    [FEATURE_CPU_PMU_CAPS, cpuPmuCapsWriter],
    [FEATURE_CLOCK_DATA, clockDataWriter],
    [FEATURE_HYBRID_TOPOLOGY, hybridTopologyWriter],
    [FEATURE_PMU_CAPS, pmuCapsWriter],
    [FEATURE_CPU_DOMAIN_INFO, bytesWriter('cpuDomainInfo')],
    [FEATURE_E_MACHINE, elfMachineWriter],
    [FEATURE_CLN_SIZE, cacheLineSizeWriter],
  ]);
}

/**
 * The bytes of feature `bit`, or null where `features` has neither its fields nor its bytes.
 * Bytes that were read and whose fields were not changed since come back as they were; else the
 * section is made from the fields.
 */
export function encodeFeature(
  bit: number,
  features: PerfDataFeatures,
  littleEndian: boolean,
): Uint8Array | null {
  const codec = FEATURE_WRITERS.get(bit);
  const raw = features.raw.get(bit);
  if (codec === undefined) return raw ?? null;
  if (raw !== undefined && (features.rawLittleEndian ?? littleEndian) === littleEndian) {
    const again = emptyFeatures();
    if (features.cpusAvailable !== undefined) again.cpusAvailable = features.cpusAvailable;
    FEATURE_READS.get(bit)?.(new FeatureReader(raw, littleEndian), again);
    if (codec.fields.every((field) => isEqual(again[field], features[field]))) return raw;
  }
  const writer = new BodyWriter(littleEndian);
  return codec.write(writer, features) ? writer.take() : null;
}

/** Every section that `features` can fill, by feature bit, ascending: the order in which a file has them. */
export function encodeFeatures(
  features: PerfDataFeatures,
  littleEndian: boolean,
): ReadonlyMap<number, Uint8Array> {
  const bits = [...new Set([...FEATURE_WRITERS.keys(), ...features.raw.keys()])].sort((a, b) => a - b);
  const sections = new Map<number, Uint8Array>();
  for (const bit of bits) {
    const bytes = encodeFeature(bit, features, littleEndian);
    if (bytes !== null) sections.set(bit, bytes);
  }
  return sections;
}

/** Deep equality of the plain values that features are made of. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array && b instanceof Uint8Array)
    return a.length === b.length && a.every((x, i) => x === b[i]);
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) =>
    isEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}
