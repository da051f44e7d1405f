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

/** Name of a command of bpf(2). */
export type BpfCommandName = keyof typeof BPF_COMMANDS;

/** `enum bpf_attach_type`: a tracing program at the beginning of a function. */
export const BPF_TRACE_FENTRY = 24;
/** `enum bpf_attach_type`: a tracing program at the end of a function. */
export const BPF_TRACE_FEXIT = 25;
/** `enum bpf_attach_type`: a program on a perf event, by BPF_LINK_CREATE (Linux 5.15). */
export const BPF_PERF_EVENT = 41;

/** Names of `enum bpf_link_type`, by its number. */
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

/** Offset in `struct bpf_prog_info`. u32: the program's type. */
export const BPF_PROG_INFO_TYPE = 0;
/** Offset in `struct bpf_prog_info`. u32: the program's id. */
export const BPF_PROG_INFO_ID = 4;
/** Offset in `struct bpf_prog_info`. u32: bytes of machine code; 0 without the JIT. */
export const BPF_PROG_INFO_JITED_LENGTH = 16;
/** Offset in `struct bpf_prog_info`. u32: bytes of instructions, as the verifier left them. */
export const BPF_PROG_INFO_XLATED_LENGTH = 20;
/** Offset in `struct bpf_prog_info`. u64: pointer to a buffer for these instructions, or 0. */
export const BPF_PROG_INFO_XLATED_INSTRUCTIONS = 32;
/** Offset in `struct bpf_prog_info`. u64: when it was loaded, in nanoseconds since boot. */
export const BPF_PROG_INFO_LOAD_TIME = 40;
/** Offset in `struct bpf_prog_info`. u32: user id of who loaded it. */
export const BPF_PROG_INFO_USER = 48;
/** Offset in `struct bpf_prog_info`. u32: how many maps it uses; before the call, the room at MAP_IDS. */
export const BPF_PROG_INFO_MAP_COUNT = 52;
/** Offset in `struct bpf_prog_info`. u64: pointer to a buffer for ids of its maps, u32 each, or 0. */
export const BPF_PROG_INFO_MAP_IDS = 56;
/** Offset in `struct bpf_prog_info`. Its name, in 16 bytes. */
export const BPF_PROG_INFO_NAME = 64;
/** Offset in `struct bpf_prog_info`. u64: how long it ran, in nanoseconds, while statistics were on. */
export const BPF_PROG_INFO_RUN_TIME_NS = 192;
/** Offset in `struct bpf_prog_info`. u64: how often it ran while statistics were on. */
export const BPF_PROG_INFO_RUN_COUNT = 200;
/**
 * Offset in `struct bpf_prog_info`. u64: runs that were left out, as the program
 * was running on that CPU already.
 */
export const BPF_PROG_INFO_RECURSION_MISSES = 208;
/** Bytes of `struct bpf_prog_info` of Linux 6.1; an older kernel fills less of it. */
export const BPF_PROG_INFO_SIZE = 232;

/** Offset in `struct bpf_map_info`. u32: the map's type. */
export const BPF_MAP_INFO_TYPE = 0;
/** Offset in `struct bpf_map_info`. u32: the map's id. */
export const BPF_MAP_INFO_ID = 4;
/** Offset in `struct bpf_map_info`. u32: bytes of a key. */
export const BPF_MAP_INFO_KEY_SIZE = 8;
/** Offset in `struct bpf_map_info`. u32: bytes of a value. */
export const BPF_MAP_INFO_VALUE_SIZE = 12;
/** Offset in `struct bpf_map_info`. u32: the most entries; of a ring, its bytes. */
export const BPF_MAP_INFO_MAX_ENTRIES = 16;
/** Offset in `struct bpf_map_info`. u32: map flags, BPF_F_* bits. */
export const BPF_MAP_INFO_FLAGS = 20;
/** Offset in `struct bpf_map_info`. Its name, in 16 bytes. */
export const BPF_MAP_INFO_NAME = 24;
/** Bytes of `struct bpf_map_info` of Linux 6.1; an older kernel fills less of it. */
export const BPF_MAP_INFO_SIZE = 88;

/** Offset in `struct bpf_link_info`. u32: the link's type, an index of BPF_LINK_TYPES. */
export const BPF_LINK_INFO_TYPE = 0;
/** Offset in `struct bpf_link_info`. u32: the link's id. */
export const BPF_LINK_INFO_ID = 4;
/** Offset in `struct bpf_link_info`. u32: id of the program. */
export const BPF_LINK_INFO_PROGRAM = 8;
/** Bytes for a `struct bpf_link_info`: more than any kernel fills; the rest stays 0. */
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
/** Bit of a record's first word: the program has taken the record back; skip it. */
export const BPF_RINGBUF_DISCARD_BIT = 0x4000_0000;
/** Bytes before the payload of a record: length with two flags, page offset. */
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
