/**
 * Feature sections of a perf.data header
 * (`tools/perf/Documentation/perf.data-file-format.txt`), by bit number.
 */

/** Descriptions of tracepoints: their fields and how they are printed. */
export const FEATURE_TRACING_DATA = 1;
/** Build ids of the files that samples are in. */
export const FEATURE_BUILD_ID = 2;
/** Name of the machine. */
export const FEATURE_HOSTNAME = 3;
/** Release of the kernel, as `uname -r`. */
export const FEATURE_OSRELEASE = 4;
/** Version of the recorder. */
export const FEATURE_VERSION = 5;
/** Architecture, as `uname -m`. */
export const FEATURE_ARCH = 6;
/** How many CPUs the machine has and how many are online. */
export const FEATURE_NRCPUS = 7;
/** Model of the CPU as text. */
export const FEATURE_CPUDESC = 8;
/** Model of the CPU as a key: on x86 vendor, family, model and stepping. */
export const FEATURE_CPUID = 9;
/** Memory of the machine in KiB. */
export const FEATURE_TOTAL_MEM = 10;
/** Command line of the recorder. */
export const FEATURE_CMDLINE = 11;
/** Events: attrs, names and ids. */
export const FEATURE_EVENT_DESC = 12;
/** Which CPUs share a package, a die or a core. */
export const FEATURE_CPU_TOPOLOGY = 13;
/** Nodes of memory and their CPUs. */
export const FEATURE_NUMA_TOPOLOGY = 14;
/** Samples have branch stacks. The section is empty. */
export const FEATURE_BRANCH_STACK = 15;
/** Names of PMUs by the type of their events. */
export const FEATURE_PMU_MAPPINGS = 16;
/** Groups of events and their names. */
export const FEATURE_GROUP_DESC = 17;
/** Where pieces of the hardware trace stand in the file. */
export const FEATURE_AUXTRACE = 18;
/** The recording holds counts (`perf stat record`). The section is empty. */
export const FEATURE_STAT = 19;
/** Caches of the CPUs. */
export const FEATURE_CACHE = 20;
/** Times of the first and the last sample, in nanoseconds. */
export const FEATURE_SAMPLE_TIME = 21;
/** Which blocks of memory belong to which node. */
export const FEATURE_MEM_TOPOLOGY = 22;
/** Resolution of the recording's clock, in nanoseconds. */
export const FEATURE_CLOCKID = 23;
/** The recording is a directory of files: version of its layout. */
export const FEATURE_DIR_FORMAT = 24;
/** BPF programs that ran: `bpf_prog_info` with code and symbols. */
export const FEATURE_BPF_PROG_INFO = 25;
/** Types of BPF programs (BTF). */
export const FEATURE_BPF_BTF = 26;
/** How records are compressed. */
export const FEATURE_COMPRESSED = 27;
/** What the core's PMU can do. */
export const FEATURE_CPU_PMU_CAPS = 28;
/** One moment on the wall clock and on the recording's clock. */
export const FEATURE_CLOCK_DATA = 29;
/** PMUs of the kinds of cores, and their CPUs. */
export const FEATURE_HYBRID_TOPOLOGY = 30;
/** What other PMUs can do. */
export const FEATURE_PMU_CAPS = 31;
/** Scheduling domains of the CPUs. */
export const FEATURE_CPU_DOMAIN_INFO = 32;
/** ELF machine and flags. */
export const FEATURE_E_MACHINE = 33;
/** Size of a cache line on the recorded machine. */
export const FEATURE_CLN_SIZE = 34;
/** How many feature bits a header has room for. */
export const FEATURE_BITS = 256;
/** The first bit that vendors use (Android's simpleperf). */
export const FEATURE_VENDOR_START = 128;
/** Ours: why a history was written and when, as JSON. perf passes over it. */
export const FEATURE_FLIGHT = 192;
/** Ours: files that processes wrote of their code, so that the recording can be read anywhere. */
export const FEATURE_RECORDED_FILES = 193;

const OWN_NAMES: ReadonlyMap<number, string> = new Map([
  [FEATURE_FLIGHT, 'FLIGHT'],
  [FEATURE_RECORDED_FILES, 'RECORDED_FILES'],
]);

/** Names of the features by bit, as perf has them; bit 0 has none. */
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

/** Name of a feature: `HOSTNAME`; `feature(40)` for one that is newer than the table. */
export function featureName(bit: number): string {
  return FEATURE_NAMES[bit] || OWN_NAMES.get(bit) || `feature(${bit})`;
}

/** First half of `PERFILE2`, the mark at the start of a perf.data file, little-endian. */
export const MAGIC_LO = 0x46524550;
/** Second half of `PERFILE2`. Both the other way round: the file is big-endian. */
export const MAGIC_HI = 0x32454c49;
/** Bytes of the header of a file: magic, size, size of an attr, 3 sections, 256 feature bits. */
export const FILE_HEADER_SIZE = 104;
/** Bytes of the header of a recording in a pipe: magic and size. */
export const PIPE_HEADER_SIZE = 16;
