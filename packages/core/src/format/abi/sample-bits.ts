/**
 * `attr.sample_type`: what a sample carries, in the order in which it stands in
 * the record (see `SampleLayout`).
 */

/** Address of the instruction. */
export const PERF_SAMPLE_IP = 1 << 0;
/** Process and thread. */
export const PERF_SAMPLE_TID = 1 << 1;
/** Time in nanoseconds. */
export const PERF_SAMPLE_TIME = 1 << 2;
/** Address of the data, where the event has one. */
export const PERF_SAMPLE_ADDR = 1 << 3;
/** Counts of the event, or of its group, in the event's `read_format`. */
export const PERF_SAMPLE_READ = 1 << 4;
/** Addresses of the call chain. */
export const PERF_SAMPLE_CALLCHAIN = 1 << 5;
/** The event's id; of an inherited event, its parent's. */
export const PERF_SAMPLE_ID = 1 << 6;
/** Number of the CPU. */
export const PERF_SAMPLE_CPU = 1 << 7;
/** How many events the sample stands for. */
export const PERF_SAMPLE_PERIOD = 1 << 8;
/** Id of the event itself, which is its own where it was inherited. */
export const PERF_SAMPLE_STREAM_ID = 1 << 9;
/** Fields of a tracepoint, or what the kind of event puts there. */
export const PERF_SAMPLE_RAW = 1 << 10;
/** Branches before the sample, as `branch_sample_type` asks for them. */
export const PERF_SAMPLE_BRANCH_STACK = 1 << 11;
/** Registers of the user code, as `sample_regs_user` asks for them. */
export const PERF_SAMPLE_REGS_USER = 1 << 12;
/** Copy of the user stack, of `sample_stack_user` bytes at most. */
export const PERF_SAMPLE_STACK_USER = 1 << 13;
/** Cost of a memory access: one number of 64 bits. */
export const PERF_SAMPLE_WEIGHT = 1 << 14;
/** Where data came from: `union perf_mem_data_src`. */
export const PERF_SAMPLE_DATA_SRC = 1 << 15;
/**
 * The event's id at the front of a sample and at the end of other records: at a
 * place that no other bit moves.
 */
export const PERF_SAMPLE_IDENTIFIER = 1 << 16;
/** Why a memory transaction aborted. */
export const PERF_SAMPLE_TRANSACTION = 1 << 17;
/** Registers at the interrupt, as `sample_regs_intr` asks for them. */
export const PERF_SAMPLE_REGS_INTR = 1 << 18;
/** Physical address of the data. */
export const PERF_SAMPLE_PHYS_ADDR = 1 << 19;
/** Hardware trace up to the sample, of `aux_sample_size` bytes at most. */
export const PERF_SAMPLE_AUX = 1 << 20;
/** Id of the thread's cgroup. */
export const PERF_SAMPLE_CGROUP = 1 << 21;
/** Size in bytes of the page that the data is in. */
export const PERF_SAMPLE_DATA_PAGE_SIZE = 1 << 22;
/** Size in bytes of the page that the instruction is in. */
export const PERF_SAMPLE_CODE_PAGE_SIZE = 1 << 23;
/** Cost of a memory access in three numbers (bits 0-31, 32-47, 48-63); not together with WEIGHT. */
export const PERF_SAMPLE_WEIGHT_STRUCT = 1 << 24;

/** Names as perf's header prints them. */
export const SAMPLE_BIT_NAMES: readonly string[] = [
  'IP',
  'TID',
  'TIME',
  'ADDR',
  'READ',
  'CALLCHAIN',
  'ID',
  'CPU',
  'PERIOD',
  'STREAM_ID',
  'RAW',
  'BRANCH_STACK',
  'REGS_USER',
  'STACK_USER',
  'WEIGHT',
  'DATA_SRC',
  'IDENTIFIER',
  'TRANSACTION',
  'REGS_INTR',
  'PHYS_ADDR',
  'AUX',
  'CGROUP',
  'DATA_PAGE_SIZE',
  'CODE_PAGE_SIZE',
  'WEIGHT_STRUCT',
];

/** Names of the set bits, as perf prints them. */
export function sampleBitNames(sampleType: number): string[] {
  return SAMPLE_BIT_NAMES.filter((_, bit) => (sampleType & (1 << bit)) !== 0);
}

/** Bits of a sample id trailer, in its order: tid, time, id, stream id, cpu, identifier. */
export const SAMPLE_ID_BITS =
  PERF_SAMPLE_TID |
  PERF_SAMPLE_TIME |
  PERF_SAMPLE_ID |
  PERF_SAMPLE_STREAM_ID |
  PERF_SAMPLE_CPU |
  PERF_SAMPLE_IDENTIFIER;

/** `attr.branch_sample_type`: branches to user code. */
export const PERF_SAMPLE_BRANCH_USER = 1 << 0;
/** `attr.branch_sample_type`: branches to the kernel. */
export const PERF_SAMPLE_BRANCH_KERNEL = 1 << 1;
/** `attr.branch_sample_type`: branches to the hypervisor. */
export const PERF_SAMPLE_BRANCH_HV = 1 << 2;
/** `attr.branch_sample_type`: every kind of branch. */
export const PERF_SAMPLE_BRANCH_ANY = 1 << 3;
/** `attr.branch_sample_type`: calls, direct and indirect, and system calls. */
export const PERF_SAMPLE_BRANCH_ANY_CALL = 1 << 4;
/** `attr.branch_sample_type`: returns, also from system calls. */
export const PERF_SAMPLE_BRANCH_ANY_RETURN = 1 << 5;
/** @internal `attr.branch_sample_type`: indirect calls. */
export const PERF_SAMPLE_BRANCH_IND_CALL = 1 << 6;
/** @internal `attr.branch_sample_type`: aborts of transactions. */
export const PERF_SAMPLE_BRANCH_ABORT_TX = 1 << 7;
/** @internal `attr.branch_sample_type`: only within transactions. */
export const PERF_SAMPLE_BRANCH_IN_TX = 1 << 8;
/** @internal `attr.branch_sample_type`: only outside of transactions. */
export const PERF_SAMPLE_BRANCH_NO_TX = 1 << 9;
/** @internal `attr.branch_sample_type`: conditional branches. */
export const PERF_SAMPLE_BRANCH_COND = 1 << 10;
/** `attr.branch_sample_type`: open calls alone; the CPU takes away the entry when a call returns. */
export const PERF_SAMPLE_BRANCH_CALL_STACK = 1 << 11;
/** @internal `attr.branch_sample_type`: indirect jumps. */
export const PERF_SAMPLE_BRANCH_IND_JUMP = 1 << 12;
/** @internal `attr.branch_sample_type`: direct calls. */
export const PERF_SAMPLE_BRANCH_CALL = 1 << 13;
/** @internal `attr.branch_sample_type`: no flags, which some CPUs give faster. */
export const PERF_SAMPLE_BRANCH_NO_FLAGS = 1 << 14;
/** @internal `attr.branch_sample_type`: no cycles. */
export const PERF_SAMPLE_BRANCH_NO_CYCLES = 1 << 15;
/** @internal `attr.branch_sample_type`: the kind of each branch, too. */
export const PERF_SAMPLE_BRANCH_TYPE_SAVE = 1 << 16;
/** A hardware index of 8 bytes stands between the count and the entries. */
export const PERF_SAMPLE_BRANCH_HW_INDEX = 1 << 17;
/** @internal `attr.branch_sample_type`: at which privilege each branch went on, too. */
export const PERF_SAMPLE_BRANCH_PRIV_SAVE = 1 << 18;
/** After the entries: one more 64-bit word of counters per entry. */
export const PERF_SAMPLE_BRANCH_COUNTERS = 1 << 19;

/** Registers of REGS_USER and REGS_INTR: there are none, as of a kernel thread. */
export const PERF_SAMPLE_REGS_ABI_NONE = 0;
/** Registers of REGS_USER and REGS_INTR: of 32-bit code. */
export const PERF_SAMPLE_REGS_ABI_32 = 1;
/** Registers of REGS_USER and REGS_INTR: of 64-bit code. */
export const PERF_SAMPLE_REGS_ABI_64 = 2;
