/** Commands of bpf(2) (`enum bpf_cmd` of linux/bpf.h), by the kernel's names without `BPF_`. */
export const BPF_COMMANDS = {
  MAP_CREATE: 0,
  MAP_LOOKUP_ELEM: 1,
  MAP_UPDATE_ELEM: 2,
  MAP_DELETE_ELEM: 3,
  MAP_GET_NEXT_KEY: 4,
  PROG_LOAD: 5,
  PROG_GET_NEXT_ID: 11,
  MAP_GET_NEXT_ID: 12,
  PROG_GET_FD_BY_ID: 13,
  MAP_GET_FD_BY_ID: 14,
  OBJ_GET_INFO_BY_FD: 15,
  RAW_TRACEPOINT_OPEN: 17,
  /** Linux 5.6. */
  MAP_LOOKUP_BATCH: 24,
  MAP_LOOKUP_AND_DELETE_BATCH: 25,
  /** Linux 5.7. */
  LINK_CREATE: 28,
  LINK_GET_FD_BY_ID: 30,
  LINK_GET_NEXT_ID: 31,
  /** Linux 5.8. */
  ENABLE_STATS: 32,
} as const;

export type BpfCommandName = keyof typeof BPF_COMMANDS;

/** `enum bpf_attach_type`: a tracing program at the beginning of a function, or at its end. */
export const BPF_TRACE_FENTRY = 24;
export const BPF_TRACE_FEXIT = 25;
/** `enum bpf_attach_type`: a program on a perf event, by BPF_LINK_CREATE (Linux 5.15). */
export const BPF_PERF_EVENT = 41;

/** `enum bpf_link_type`, for the kernel's listing. */
export const BPF_LINK_TYPES: readonly string[] = [
  'unspecified',
  'raw-tracepoint',
  'tracing',
  'cgroup',
  'iterator',
  'network-namespace',
  'xdp',
  'perf-event',
  'kprobe-multi',
  'struct-ops',
  'netfilter',
  'tcx',
  'uprobe-multi',
  'netkit',
  'sockmap',
];

/** Where the fields of `struct bpf_prog_info` stand. */
export const BPF_PROG_INFO_TYPE = 0;
export const BPF_PROG_INFO_ID = 4;
export const BPF_PROG_INFO_JITED_LENGTH = 16;
export const BPF_PROG_INFO_XLATED_LENGTH = 20;
export const BPF_PROG_INFO_XLATED_INSTRUCTIONS = 32;
export const BPF_PROG_INFO_LOAD_TIME = 40;
export const BPF_PROG_INFO_USER = 48;
export const BPF_PROG_INFO_MAP_COUNT = 52;
export const BPF_PROG_INFO_MAP_IDS = 56;
export const BPF_PROG_INFO_NAME = 64;
export const BPF_PROG_INFO_RUN_TIME_NS = 192;
export const BPF_PROG_INFO_RUN_COUNT = 200;
/** Runs that did not take place because the program was already running on that CPU. */
export const BPF_PROG_INFO_RECURSION_MISSES = 208;
/** Linux 6.1 has 232 bytes; an older kernel fills less of it. */
export const BPF_PROG_INFO_SIZE = 232;

/** Where the fields of `struct bpf_map_info` stand. */
export const BPF_MAP_INFO_TYPE = 0;
export const BPF_MAP_INFO_ID = 4;
export const BPF_MAP_INFO_KEY_SIZE = 8;
export const BPF_MAP_INFO_VALUE_SIZE = 12;
export const BPF_MAP_INFO_MAX_ENTRIES = 16;
export const BPF_MAP_INFO_FLAGS = 20;
export const BPF_MAP_INFO_NAME = 24;
export const BPF_MAP_INFO_SIZE = 88;

/** Where the fields of `struct bpf_link_info` stand. */
export const BPF_LINK_INFO_TYPE = 0;
export const BPF_LINK_INFO_ID = 4;
export const BPF_LINK_INFO_PROGRAM = 8;
/** Larger than any kernel's: what it does not fill stays 0. */
export const BPF_LINK_INFO_SIZE = 128;

/**
 * The BPF ring buffer as it is mapped (kernel/bpf/ringbuf.c), in pages:
 *
 *   | consumer position | producer position | data ... | the same data again ... |
 *     read and write      read only           a record never wraps for a reader
 *
 * A record: { u32 length and two flags; u32 page offset, the kernel's own } payload, up to
 * the next multiple of 8 bytes.
 */
export const BPF_RINGBUF_BUSY_BIT = 0x8000_0000;
export const BPF_RINGBUF_DISCARD_BIT = 0x4000_0000;
export const BPF_RINGBUF_HEADER_SIZE = 8;

/** The smallest program, `r0 = 0; exit`: what probes load to see whether a type is there. */
export const BPF_SMALLEST_PROGRAM: Uint8Array = Uint8Array.of(
  0xb7,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0x95,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
);
