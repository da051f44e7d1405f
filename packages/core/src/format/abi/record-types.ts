/** Record types of the kernel (1-63) and of perf's user space (64 and up). */

/** A file was mapped: `MmapRecord`. */
export const PERF_RECORD_MMAP = 1;
/** Records did not fit the ring: `LostRecord`. */
export const PERF_RECORD_LOST = 2;
/** A thread has a new name: `CommRecord`. */
export const PERF_RECORD_COMM = 3;
/** A thread has ended: `ExitRecord`. */
export const PERF_RECORD_EXIT = 4;
/** The kernel stopped sampling of an event: `ThrottleRecord`. */
export const PERF_RECORD_THROTTLE = 5;
/** The kernel goes on with sampling of an event: `UnthrottleRecord`. */
export const PERF_RECORD_UNTHROTTLE = 6;
/** A thread or process was made: `ForkRecord`. */
export const PERF_RECORD_FORK = 7;
/** Counts of a thread that has ended: `ReadRecord`. */
export const PERF_RECORD_READ = 8;
/** A sample of an event: `SampleRecord`. */
export const PERF_RECORD_SAMPLE = 9;
/** A file was mapped, with its inode or build id: `Mmap2Record`. */
export const PERF_RECORD_MMAP2 = 10;
/** New data stands in the AUX ring: `AuxRecord`. */
export const PERF_RECORD_AUX = 11;
/** The hardware trace of a thread has started: `ItraceStartRecord`. */
export const PERF_RECORD_ITRACE_START = 12;
/** Samples that never came to the ring: `LostSamplesRecord`. */
export const PERF_RECORD_LOST_SAMPLES = 13;
/** The thread of the event went off its CPU or came back: `SwitchRecord`. */
export const PERF_RECORD_SWITCH = 14;
/** A context switch on a CPU, with the other thread: `SwitchCpuWideRecord`. */
export const PERF_RECORD_SWITCH_CPU_WIDE = 15;
/** Namespaces of a thread: `NamespacesRecord`. */
export const PERF_RECORD_NAMESPACES = 16;
/** The kernel has new code, or code is gone: `KsymbolRecord`. */
export const PERF_RECORD_KSYMBOL = 17;
/** A BPF program was loaded or unloaded: `BpfEventRecord`. */
export const PERF_RECORD_BPF_EVENT = 18;
/** A cgroup and its path: `CgroupRecord`. */
export const PERF_RECORD_CGROUP = 19;
/** The kernel changed its own code: `TextPokeRecord`. */
export const PERF_RECORD_TEXT_POKE = 20;
/** Number of an event in the hardware trace: `AuxOutputHwIdRecord`. */
export const PERF_RECORD_AUX_OUTPUT_HW_ID = 21;
/** The user part of call chains, taken later: `CallchainDeferredRecord`. */
export const PERF_RECORD_CALLCHAIN_DEFERRED = 22;

/** The first type of user space: types from here on have no sample id trailer. */
export const PERF_RECORD_USER_TYPE_START = 64;
/** An event, in a pipe: `HeaderAttrRecord`. */
export const PERF_RECORD_HEADER_ATTR = 64;
/** Name of an event, in old recordings: `HeaderEventTypeRecord`. */
export const PERF_RECORD_HEADER_EVENT_TYPE = 65;
/** Descriptions of tracepoints, in a pipe: `HeaderTracingDataRecord`. */
export const PERF_RECORD_HEADER_TRACING_DATA = 66;
/** Build id of a file: `HeaderBuildIdRecord`. */
export const PERF_RECORD_HEADER_BUILD_ID = 67;
/** The recorder has read every ring once: `FinishedRoundRecord`. */
export const PERF_RECORD_FINISHED_ROUND = 68;
/** Where each event id was opened: `IdIndexRecord`. */
export const PERF_RECORD_ID_INDEX = 69;
/** Which hardware trace the recording has: `AuxtraceInfoRecord`. */
export const PERF_RECORD_AUXTRACE_INFO = 70;
/** A piece of an AUX ring, whose bytes follow: `AuxtraceRecord`. */
export const PERF_RECORD_AUXTRACE = 71;
/** A place where the hardware trace could not be decoded: `AuxtraceErrorRecord`. */
export const PERF_RECORD_AUXTRACE_ERROR = 72;
/** Threads that were recorded or counted: `ThreadMapRecord`. */
export const PERF_RECORD_THREAD_MAP = 73;
/** CPUs that were recorded or counted: `CpuMapRecord`. */
export const PERF_RECORD_CPU_MAP = 74;
/** How a recording of counts was made: `StatConfigRecord`. */
export const PERF_RECORD_STAT_CONFIG = 75;
/** A count: `StatRecord`. */
export const PERF_RECORD_STAT = 76;
/** End of counts that were read together: `StatRoundRecord`. */
export const PERF_RECORD_STAT_ROUND = 77;
/** One more fact about an event: `EventUpdateRecord`. */
export const PERF_RECORD_EVENT_UPDATE = 78;
/** How the CPU's clock becomes time: `TimeConvRecord`. */
export const PERF_RECORD_TIME_CONV = 79;
/** A section of the header, in a pipe: `HeaderFeatureRecord`. */
export const PERF_RECORD_HEADER_FEATURE = 80;
/** Compressed records: `CompressedRecord`. */
export const PERF_RECORD_COMPRESSED = 81;
/** What was there before the recording has been told: `FinishedInitRecord`. */
export const PERF_RECORD_FINISHED_INIT = 82;
/** Compressed records with their exact size: `Compressed2Record`. */
export const PERF_RECORD_COMPRESSED2 = 83;
/** Variables that a BPF program has for tools: `BpfMetadataRecord`. */
export const PERF_RECORD_BPF_METADATA = 84;
/** Counters of the scheduler for a CPU: `SchedstatCpuRecord`. */
export const PERF_RECORD_SCHEDSTAT_CPU = 85;
/** Counters of the scheduler for a domain: `SchedstatDomainRecord`. */
export const PERF_RECORD_SCHEDSTAT_DOMAIN = 86;

/** Of the kernel's types, from PERF_RECORD_MMAP on without a gap. */
const KERNEL_NAMES: readonly string[] = [
  'MMAP',
  'LOST',
  'COMM',
  'EXIT',
  'THROTTLE',
  'UNTHROTTLE',
  'FORK',
  'READ',
  'SAMPLE',
  'MMAP2',
  'AUX',
  'ITRACE_START',
  'LOST_SAMPLES',
  'SWITCH',
  'SWITCH_CPU_WIDE',
  'NAMESPACES',
  'KSYMBOL',
  'BPF_EVENT',
  'CGROUP',
  'TEXT_POKE',
  'AUX_OUTPUT_HW_ID',
  'CALLCHAIN_DEFERRED',
];

/** Of perf's, from PERF_RECORD_USER_TYPE_START on without a gap. */
const USER_NAMES: readonly string[] = [
  'ATTR',
  'EVENT_TYPE',
  'TRACING_DATA',
  'BUILD_ID',
  'FINISHED_ROUND',
  'ID_INDEX',
  'AUXTRACE_INFO',
  'AUXTRACE',
  'AUXTRACE_ERROR',
  'THREAD_MAP',
  'CPU_MAP',
  'STAT_CONFIG',
  'STAT',
  'STAT_ROUND',
  'EVENT_UPDATE',
  'TIME_CONV',
  'FEATURE',
  'COMPRESSED',
  'FINISHED_INIT',
  'COMPRESSED2',
  'BPF_METADATA',
  'SCHEDSTAT_CPU',
  'SCHEDSTAT_DOMAIN',
];

/** Names of record types, as `perf report --stats` prints them. */
export const RECORD_NAMES: ReadonlyMap<number, string> = /* @__PURE__ */ new Map([
  ...numbered(KERNEL_NAMES, PERF_RECORD_MMAP),
  ...numbered(USER_NAMES, PERF_RECORD_USER_TYPE_START),
]);

function numbered(names: readonly string[], first: number): [number, string][] {
  return names.map((name, index) => [first + index, name]);
}

/** `MMAP2`, or `unknown(87)` for a type that is newer than this table. */
export function recordTypeName(type: number): string {
  return RECORD_NAMES.get(type) ?? `unknown(${type})`;
}

/** Size of `struct perf_event_header`: type u32, misc u16, size u16. */
export const RECORD_HEADER_SIZE = 8;

/** Bits of `misc` that say in which mode the CPU was: one of the six values that follow. */
export const PERF_RECORD_MISC_CPUMODE_MASK = 0x7;
/** The CPU mode is not known. */
export const PERF_RECORD_MISC_CPUMODE_UNKNOWN = 0;
/** The CPU ran the kernel. */
export const PERF_RECORD_MISC_KERNEL = 1;
/** The CPU ran user code. */
export const PERF_RECORD_MISC_USER = 2;
/** The CPU ran the hypervisor. */
export const PERF_RECORD_MISC_HYPERVISOR = 3;
/** The CPU ran the kernel of a guest. */
export const PERF_RECORD_MISC_GUEST_KERNEL = 4;
/** The CPU ran user code of a guest. */
export const PERF_RECORD_MISC_GUEST_USER = 5;
/** On MMAP2, of perf alone: it stopped reading /proc/PID/maps, which took too long. Mappings are missing. */
export const PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT = 1 << 12;
// Bits 13 and 14 mean something else on each type that uses them.
/** On MMAP and MMAP2: the mapping is not executable. */
export const PERF_RECORD_MISC_MMAP_DATA = 1 << 13;
/** On COMM: the name comes from execve(2), not from the thread itself. */
export const PERF_RECORD_MISC_COMM_EXEC = 1 << 13;
/** On FORK, of perf alone: the thread was there before the recording, and has mappings of its own. */
export const PERF_RECORD_MISC_FORK_EXEC = 1 << 13;
/** On SWITCH and SWITCH_CPU_WIDE: the thread goes off the CPU. Without it the thread comes. */
export const PERF_RECORD_MISC_SWITCH_OUT = 1 << 13;
/** On SAMPLE: `ip` is the instruction that made the event, not one after it. */
export const PERF_RECORD_MISC_EXACT_IP = 1 << 14;
/** On SWITCH and SWITCH_CPU_WIDE with SWITCH_OUT: the thread could have gone on running. */
export const PERF_RECORD_MISC_SWITCH_OUT_PREEMPT = 1 << 14;
/** On MMAP2: a build id stands where device and inode would be. */
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

/** On AUX: data was lost for want of room in the AUX ring. */
export const PERF_AUX_FLAG_TRUNCATED = 0x1;
/** On AUX: the ring overwrites old data; `auxOffset` is where the hardware's head is. */
export const PERF_AUX_FLAG_OVERWRITE = 0x2;
/** On AUX: the data has gaps. */
export const PERF_AUX_FLAG_PARTIAL = 0x4;
/** On AUX: a sample collided with another (Arm SPE). */
export const PERF_AUX_FLAG_COLLISION = 0x8;

// Markers in call chains: values of a signed 64-bit word, so the high half is 0xffffffff and the low half is
// at or above `PERF_CONTEXT_MAX`.
/** Marker in a call chain: addresses of the hypervisor follow. */
export const PERF_CONTEXT_HV = -32;
/** Marker in a call chain: addresses of the kernel follow. */
export const PERF_CONTEXT_KERNEL = -128;
/** Marker in a call chain: addresses of user code follow. */
export const PERF_CONTEXT_USER = -512;
/** Marker in a call chain: a cookie follows; a CALLCHAIN_DEFERRED record with it has the user part. */
export const PERF_CONTEXT_USER_DEFERRED = -640;
/** Marker in a call chain: addresses of a guest follow. */
export const PERF_CONTEXT_GUEST = -2048;
/** Marker in a call chain: addresses of a guest's kernel follow. */
export const PERF_CONTEXT_GUEST_KERNEL = -2176;
/** Marker in a call chain: addresses of a guest's user code follow. */
export const PERF_CONTEXT_GUEST_USER = -2560;
/** The lowest word of a call chain that is a marker; lower ones, as unsigned numbers, are addresses. */
export const PERF_CONTEXT_MAX = -4095;

/**
 * Addresses in a call chain at most, where an attr says nothing: kernel.perf_event_max_stack as kernels
 * have it (PERF_MAX_STACK_DEPTH).
 */
export const PERF_MAX_STACK_DEPTH = 127;
