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
} from '../../abi/index.ts';
import type { DamageLog } from '../../base/index.ts';
import { BodyWriter } from '../../records/index.ts';
import { buildIds } from './build-id-features.ts';
import { eventDescriptions, groups } from './event-features.ts';
import { bytesFeature, type FeatureCodec, flagFeature, stringFeature, u64Feature } from './feature-codec.ts';
import { FeatureReader } from './feature-reader.ts';
import { cacheLineSize, commandLine, cpuCounts, elfMachine } from './machine-features.ts';
import { emptyFeatures, type PerfDataFeatures } from './perf-data-features.ts';
import { cpuPmuCaps, pmuCaps, pmuMappings } from './pmu-features.ts';
import { auxIndex, clockData, compressed, sampleTime } from './recording-features.ts';
import { caches, cpuTopology, hybridTopology, memoryTopology, numaTopology } from './topology-features.ts';

/** The sections that are understood, by feature bit. TRACING_DATA is read by its own room. */
const CODECS: ReadonlyMap<number, FeatureCodec> = new Map([
  [FEATURE_BUILD_ID, buildIds],
  [FEATURE_HOSTNAME, stringFeature('hostname')],
  [FEATURE_OSRELEASE, stringFeature('osRelease')],
  [FEATURE_VERSION, stringFeature('version')],
  [FEATURE_ARCH, stringFeature('arch')],
  [FEATURE_NRCPUS, cpuCounts],
  [FEATURE_CPUDESC, stringFeature('cpuDescription')],
  [FEATURE_CPUID, stringFeature('cpuId')],
  [FEATURE_TOTAL_MEM, u64Feature('totalMemoryKb')],
  [FEATURE_CMDLINE, commandLine],
  [FEATURE_EVENT_DESC, eventDescriptions],
  [FEATURE_CPU_TOPOLOGY, cpuTopology],
  [FEATURE_NUMA_TOPOLOGY, numaTopology],
  [FEATURE_BRANCH_STACK, flagFeature('branchStack')],
  [FEATURE_PMU_MAPPINGS, pmuMappings],
  [FEATURE_GROUP_DESC, groups],
  [FEATURE_AUXTRACE, auxIndex],
  [FEATURE_STAT, flagFeature('stat')],
  [FEATURE_CACHE, caches],
  [FEATURE_SAMPLE_TIME, sampleTime],
  [FEATURE_MEM_TOPOLOGY, memoryTopology],
  [FEATURE_CLOCKID, u64Feature('clockIdResolutionNs')],
  [FEATURE_DIR_FORMAT, u64Feature('dirFormat')],
  [FEATURE_BPF_PROG_INFO, bytesFeature('bpfProgInfo')],
  [FEATURE_BPF_BTF, bytesFeature('bpfBtf')],
  [FEATURE_COMPRESSED, compressed],
  [FEATURE_CPU_PMU_CAPS, cpuPmuCaps],
  [FEATURE_CLOCK_DATA, clockData],
  [FEATURE_HYBRID_TOPOLOGY, hybridTopology],
  [FEATURE_PMU_CAPS, pmuCaps],
  [FEATURE_CPU_DOMAIN_INFO, bytesFeature('cpuDomainInfo')],
  [FEATURE_E_MACHINE, elfMachine],
  [FEATURE_CLN_SIZE, cacheLineSize],
]);

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
  const codec = CODECS.get(bit);
  if (codec === undefined) return;
  const reader = new FeatureReader(bytes, littleEndian);
  codec.read(reader, into);
  if (reader.damaged) damage.add('bad-feature', fileOffset);
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
  const codec = CODECS.get(bit);
  const raw = features.raw.get(bit);
  if (codec === undefined) return raw ?? null;
  if (raw !== undefined && (features.rawLittleEndian ?? littleEndian) === littleEndian) {
    const again = emptyFeatures();
    if (features.cpusAvailable !== undefined) again.cpusAvailable = features.cpusAvailable;
    codec.read(new FeatureReader(raw, littleEndian), again);
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
  const bits = [...new Set([...CODECS.keys(), ...features.raw.keys()])].sort((a, b) => a - b);
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
