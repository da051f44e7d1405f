/** Record types of the kernel (1-63) and of perf's user space (64 and up). */

export const PERF_RECORD_MMAP = 1;
export const PERF_RECORD_LOST = 2;
export const PERF_RECORD_COMM = 3;
export const PERF_RECORD_EXIT = 4;
export const PERF_RECORD_THROTTLE = 5;
export const PERF_RECORD_UNTHROTTLE = 6;
export const PERF_RECORD_FORK = 7;
export const PERF_RECORD_READ = 8;
export const PERF_RECORD_SAMPLE = 9;
export const PERF_RECORD_MMAP2 = 10;
export const PERF_RECORD_AUX = 11;
export const PERF_RECORD_ITRACE_START = 12;
export const PERF_RECORD_LOST_SAMPLES = 13;
export const PERF_RECORD_SWITCH = 14;
export const PERF_RECORD_SWITCH_CPU_WIDE = 15;
export const PERF_RECORD_NAMESPACES = 16;
export const PERF_RECORD_KSYMBOL = 17;
export const PERF_RECORD_BPF_EVENT = 18;
export const PERF_RECORD_CGROUP = 19;
export const PERF_RECORD_TEXT_POKE = 20;
export const PERF_RECORD_AUX_OUTPUT_HW_ID = 21;
export const PERF_RECORD_CALLCHAIN_DEFERRED = 22;

/** Types from here on are written by user space and carry no sample id trailer. */
export const PERF_RECORD_USER_TYPE_START = 64;
export const PERF_RECORD_HEADER_ATTR = 64;
export const PERF_RECORD_HEADER_EVENT_TYPE = 65;
export const PERF_RECORD_HEADER_TRACING_DATA = 66;
export const PERF_RECORD_HEADER_BUILD_ID = 67;
export const PERF_RECORD_FINISHED_ROUND = 68;
export const PERF_RECORD_ID_INDEX = 69;
export const PERF_RECORD_AUXTRACE_INFO = 70;
export const PERF_RECORD_AUXTRACE = 71;
export const PERF_RECORD_AUXTRACE_ERROR = 72;
export const PERF_RECORD_THREAD_MAP = 73;
export const PERF_RECORD_CPU_MAP = 74;
export const PERF_RECORD_STAT_CONFIG = 75;
export const PERF_RECORD_STAT = 76;
export const PERF_RECORD_STAT_ROUND = 77;
export const PERF_RECORD_EVENT_UPDATE = 78;
export const PERF_RECORD_TIME_CONV = 79;
export const PERF_RECORD_HEADER_FEATURE = 80;
export const PERF_RECORD_COMPRESSED = 81;
export const PERF_RECORD_FINISHED_INIT = 82;
export const PERF_RECORD_COMPRESSED2 = 83;
export const PERF_RECORD_BPF_METADATA = 84;
export const PERF_RECORD_SCHEDSTAT_CPU = 85;
export const PERF_RECORD_SCHEDSTAT_DOMAIN = 86;

/** Names as `perf report --stats` prints them. */
const NAMES: readonly (readonly [number, string])[] = [
  [PERF_RECORD_MMAP, 'MMAP'],
  [PERF_RECORD_LOST, 'LOST'],
  [PERF_RECORD_COMM, 'COMM'],
  [PERF_RECORD_EXIT, 'EXIT'],
  [PERF_RECORD_THROTTLE, 'THROTTLE'],
  [PERF_RECORD_UNTHROTTLE, 'UNTHROTTLE'],
  [PERF_RECORD_FORK, 'FORK'],
  [PERF_RECORD_READ, 'READ'],
  [PERF_RECORD_SAMPLE, 'SAMPLE'],
  [PERF_RECORD_MMAP2, 'MMAP2'],
  [PERF_RECORD_AUX, 'AUX'],
  [PERF_RECORD_ITRACE_START, 'ITRACE_START'],
  [PERF_RECORD_LOST_SAMPLES, 'LOST_SAMPLES'],
  [PERF_RECORD_SWITCH, 'SWITCH'],
  [PERF_RECORD_SWITCH_CPU_WIDE, 'SWITCH_CPU_WIDE'],
  [PERF_RECORD_NAMESPACES, 'NAMESPACES'],
  [PERF_RECORD_KSYMBOL, 'KSYMBOL'],
  [PERF_RECORD_BPF_EVENT, 'BPF_EVENT'],
  [PERF_RECORD_CGROUP, 'CGROUP'],
  [PERF_RECORD_TEXT_POKE, 'TEXT_POKE'],
  [PERF_RECORD_AUX_OUTPUT_HW_ID, 'AUX_OUTPUT_HW_ID'],
  [PERF_RECORD_CALLCHAIN_DEFERRED, 'CALLCHAIN_DEFERRED'],
  [PERF_RECORD_HEADER_ATTR, 'ATTR'],
  [PERF_RECORD_HEADER_EVENT_TYPE, 'EVENT_TYPE'],
  [PERF_RECORD_HEADER_TRACING_DATA, 'TRACING_DATA'],
  [PERF_RECORD_HEADER_BUILD_ID, 'BUILD_ID'],
  [PERF_RECORD_FINISHED_ROUND, 'FINISHED_ROUND'],
  [PERF_RECORD_ID_INDEX, 'ID_INDEX'],
  [PERF_RECORD_AUXTRACE_INFO, 'AUXTRACE_INFO'],
  [PERF_RECORD_AUXTRACE, 'AUXTRACE'],
  [PERF_RECORD_AUXTRACE_ERROR, 'AUXTRACE_ERROR'],
  [PERF_RECORD_THREAD_MAP, 'THREAD_MAP'],
  [PERF_RECORD_CPU_MAP, 'CPU_MAP'],
  [PERF_RECORD_STAT_CONFIG, 'STAT_CONFIG'],
  [PERF_RECORD_STAT, 'STAT'],
  [PERF_RECORD_STAT_ROUND, 'STAT_ROUND'],
  [PERF_RECORD_EVENT_UPDATE, 'EVENT_UPDATE'],
  [PERF_RECORD_TIME_CONV, 'TIME_CONV'],
  [PERF_RECORD_HEADER_FEATURE, 'FEATURE'],
  [PERF_RECORD_COMPRESSED, 'COMPRESSED'],
  [PERF_RECORD_FINISHED_INIT, 'FINISHED_INIT'],
  [PERF_RECORD_COMPRESSED2, 'COMPRESSED2'],
  [PERF_RECORD_BPF_METADATA, 'BPF_METADATA'],
  [PERF_RECORD_SCHEDSTAT_CPU, 'SCHEDSTAT_CPU'],
  [PERF_RECORD_SCHEDSTAT_DOMAIN, 'SCHEDSTAT_DOMAIN'],
];

export const RECORD_NAMES: ReadonlyMap<number, string> = new Map(NAMES);

/** `MMAP2`, or `unknown(87)` for a type that is newer than this table. */
export function recordTypeName(type: number): string {
  return RECORD_NAMES.get(type) ?? `unknown(${type})`;
}

/** Size of `struct perf_event_header`: type u32, misc u16, size u16. */
export const RECORD_HEADER_SIZE = 8;

export const PERF_RECORD_MISC_CPUMODE_MASK = 0x7;
export const PERF_RECORD_MISC_CPUMODE_UNKNOWN = 0;
export const PERF_RECORD_MISC_KERNEL = 1;
export const PERF_RECORD_MISC_USER = 2;
export const PERF_RECORD_MISC_HYPERVISOR = 3;
export const PERF_RECORD_MISC_GUEST_KERNEL = 4;
export const PERF_RECORD_MISC_GUEST_USER = 5;
/** The process was still in /proc when its map was read too slowly. */
export const PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT = 1 << 12;
// Bit 13 means something else on each type that uses it.
export const PERF_RECORD_MISC_MMAP_DATA = 1 << 13;
export const PERF_RECORD_MISC_COMM_EXEC = 1 << 13;
export const PERF_RECORD_MISC_FORK_EXEC = 1 << 13;
export const PERF_RECORD_MISC_SWITCH_OUT = 1 << 13;
// So does bit 14.
export const PERF_RECORD_MISC_EXACT_IP = 1 << 14;
export const PERF_RECORD_MISC_SWITCH_OUT_PREEMPT = 1 << 14;
export const PERF_RECORD_MISC_MMAP_BUILD_ID = 1 << 14;
/** On BUILD_ID records: the size byte is valid. Elsewhere reserved by the kernel. */
export const PERF_RECORD_MISC_BUILD_ID_SIZE = 1 << 15;
/** On LOST_SAMPLES, of perf since 6.3: samples that a BPF filter of the user's own let fall. */
export const PERF_RECORD_MISC_LOST_SAMPLES_BPF = 1 << 15;
/**
 * On LOST_SAMPLES, of this project: samples that the recorder had and could not
 * write. perf counts them as lost.
 */
export const PERF_RECORD_MISC_LOST_SAMPLES_UNWRITTEN = 1 << 14;
/**
 * On LOST_SAMPLES, of this project: an entry of the loss ledger follows the count, as JSON. perf skips it,
 * and counts what `lost` says: 0 where the entry is not about whole samples.
 */
export const PERF_RECORD_MISC_LOST_SAMPLES_ENTRY = 1 << 13;

/** Flags of PERF_RECORD_AUX. */
export const PERF_AUX_FLAG_TRUNCATED = 0x1;
export const PERF_AUX_FLAG_OVERWRITE = 0x2;
export const PERF_AUX_FLAG_PARTIAL = 0x4;
export const PERF_AUX_FLAG_COLLISION = 0x8;

/**
 * Context markers in call chains: values of a signed 64-bit word, so the high half is 0xffffffff and the low
 * half is at or above `PERF_CONTEXT_MAX`.
 */
export const PERF_CONTEXT_HV = -32;
export const PERF_CONTEXT_KERNEL = -128;
export const PERF_CONTEXT_USER = -512;
export const PERF_CONTEXT_USER_DEFERRED = -640;
export const PERF_CONTEXT_GUEST = -2048;
export const PERF_CONTEXT_GUEST_KERNEL = -2176;
export const PERF_CONTEXT_GUEST_USER = -2560;
export const PERF_CONTEXT_MAX = -4095;

/**
 * Addresses in a call chain at most, where an attr says nothing: kernel.perf_event_max_stack as kernels
 * have it (PERF_MAX_STACK_DEPTH).
 */
export const PERF_MAX_STACK_DEPTH = 127;
