/**
 * Map and program types of eBPF (`enum bpf_map_type` and `enum bpf_prog_type` of linux/bpf.h), by our names.
 */

/** The kernel's number of each map type that a program of ours may want. */
export const BPF_MAP_TYPES = {
  hash: 1,
  array: 2,
  /** Descriptors of programs, for tail calls. */
  'program-array': 3,
  /** Descriptors of perf events: output to their rings, and reading their counters. */
  'perf-event-array': 4,
  'per-cpu-hash': 5,
  'per-cpu-array': 6,
  'stack-trace': 7,
  'cgroup-array': 8,
  'lru-hash': 9,
  'lru-per-cpu-hash': 10,
  /** Keys with a prefix length; the longest prefix wins. */
  'prefix-trie': 11,
  'array-of-maps': 12,
  'hash-of-maps': 13,
  queue: 22,
  stack: 23,
  'ring-buffer': 27,
  /** A value per task that goes with the task. */
  'task-storage': 29,
  'bloom-filter': 30,
  /** A ring that user space writes and a program reads. */
  'user-ring-buffer': 31,
} as const;

/** Name of a map type. */
export type BpfMapType = keyof typeof BPF_MAP_TYPES;

/**
 * The kernel's number of each program type that attaches to what is monitored, and of
 * those that tests and probes load.
 */
export const BPF_PROGRAM_TYPES = {
  'socket-filter': 1,
  /** kprobes, uprobes and their return probes. */
  kprobe: 2,
  tracepoint: 5,
  'perf-event': 7,
  'raw-tracepoint': 17,
  /** At the beginning or the end of a function of the kernel, which BTF names (Linux 5.5). */
  tracing: 26,
  /** Run by BPF_PROG_TEST_RUN alone; attached to nothing. */
  syscall: 31,
} as const;

/** Name of a program type. */
export type BpfProgramType = keyof typeof BPF_PROGRAM_TYPES;

/** `BPF_OBJ_NAME_LEN` less its final zero: what the kernel keeps of the name of a program or map. */
export const BPF_NAME_LENGTH = 15;

/** Map flag: memory of entries is taken when they are set, not when the map is made. */
export const BPF_F_NO_PREALLOC = 1 << 0;
/** One list of the recently used per CPU, not one for all. */
export const BPF_F_NO_COMMON_LRU = 1 << 1;
/** Map flag: memory of the node that `numa_node` names. */
export const BPF_F_NUMA_NODE = 1 << 2;
/** Map flag: user space may read and not write. */
export const BPF_F_RDONLY = 1 << 3;
/** Map flag: user space may write and not read. */
export const BPF_F_WRONLY = 1 << 4;
/** A stack-trace map keeps build ids and offsets in files, not addresses. */
export const BPF_F_STACK_BUILD_ID = 1 << 5;
/** Map flag: programs may read and not write. */
export const BPF_F_RDONLY_PROG = 1 << 7;
/** Map flag: programs may write and not read. */
export const BPF_F_WRONLY_PROG = 1 << 8;
/** Array maps only: the values may be mapped into user space. */
export const BPF_F_MMAPABLE = 1 << 10;
/** A perf event array keeps its events when the descriptor that put them there is closed. */
export const BPF_F_PRESERVE_ELEMS = 1 << 11;
