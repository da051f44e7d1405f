/**
 * Feature sections of a perf.data header
 * (`tools/perf/Documentation/perf.data-file-format.txt`), by bit number.
 */
export const FEATURE_TRACING_DATA = 1;
export const FEATURE_BUILD_ID = 2;
export const FEATURE_HOSTNAME = 3;
export const FEATURE_OSRELEASE = 4;
export const FEATURE_VERSION = 5;
export const FEATURE_ARCH = 6;
export const FEATURE_NRCPUS = 7;
export const FEATURE_CPUDESC = 8;
export const FEATURE_CPUID = 9;
export const FEATURE_TOTAL_MEM = 10;
export const FEATURE_CMDLINE = 11;
export const FEATURE_EVENT_DESC = 12;
export const FEATURE_CPU_TOPOLOGY = 13;
export const FEATURE_NUMA_TOPOLOGY = 14;
export const FEATURE_BRANCH_STACK = 15;
export const FEATURE_PMU_MAPPINGS = 16;
export const FEATURE_GROUP_DESC = 17;
export const FEATURE_AUXTRACE = 18;
export const FEATURE_STAT = 19;
export const FEATURE_CACHE = 20;
export const FEATURE_SAMPLE_TIME = 21;
export const FEATURE_MEM_TOPOLOGY = 22;
export const FEATURE_CLOCKID = 23;
export const FEATURE_DIR_FORMAT = 24;
export const FEATURE_BPF_PROG_INFO = 25;
export const FEATURE_BPF_BTF = 26;
export const FEATURE_COMPRESSED = 27;
export const FEATURE_CPU_PMU_CAPS = 28;
export const FEATURE_CLOCK_DATA = 29;
export const FEATURE_HYBRID_TOPOLOGY = 30;
export const FEATURE_PMU_CAPS = 31;
export const FEATURE_CPU_DOMAIN_INFO = 32;
/** ELF machine and flags. */
export const FEATURE_E_MACHINE = 33;
/** Size of a cache line on the recorded machine. */
export const FEATURE_CLN_SIZE = 34;
/** The header has room for this many feature bits. Vendors (Android's simpleperf) use bits from 128. */
export const FEATURE_BITS = 256;
export const FEATURE_VENDOR_START = 128;
/** Ours: why a history was written and when, as JSON. perf passes over it. */
export const FEATURE_FLIGHT = 192;
/** Ours: files that processes wrote of their code, so that the recording can be read anywhere. */
export const FEATURE_RECORDED_FILES = 193;

const OWN_NAMES: ReadonlyMap<number, string> = new Map([
  [FEATURE_FLIGHT, 'FLIGHT'],
  [FEATURE_RECORDED_FILES, 'RECORDED_FILES'],
]);

export const FEATURE_NAMES: readonly string[] = [
  '',
  'TRACING_DATA',
  'BUILD_ID',
  'HOSTNAME',
  'OSRELEASE',
  'VERSION',
  'ARCH',
  'NRCPUS',
  'CPUDESC',
  'CPUID',
  'TOTAL_MEM',
  'CMDLINE',
  'EVENT_DESC',
  'CPU_TOPOLOGY',
  'NUMA_TOPOLOGY',
  'BRANCH_STACK',
  'PMU_MAPPINGS',
  'GROUP_DESC',
  'AUXTRACE',
  'STAT',
  'CACHE',
  'SAMPLE_TIME',
  'MEM_TOPOLOGY',
  'CLOCKID',
  'DIR_FORMAT',
  'BPF_PROG_INFO',
  'BPF_BTF',
  'COMPRESSED',
  'CPU_PMU_CAPS',
  'CLOCK_DATA',
  'HYBRID_TOPOLOGY',
  'PMU_CAPS',
  'CPU_DOMAIN_INFO',
  'E_MACHINE',
  'CLN_SIZE',
];

export function featureName(bit: number): string {
  return FEATURE_NAMES[bit] || OWN_NAMES.get(bit) || `feature(${bit})`;
}

/** `PERFILE2`, little-endian; the other way round where the file is big-endian. */
export const MAGIC_LO = 0x46524550;
export const MAGIC_HI = 0x32454c49;
/** Header size in file mode (magic, size, attr size, 3 sections, 256 feature bits) and in pipe mode. */
export const FILE_HEADER_SIZE = 104;
export const PIPE_HEADER_SIZE = 16;
