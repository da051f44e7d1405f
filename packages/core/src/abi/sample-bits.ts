/**
 * `attr.sample_type`: what a sample carries, in the order in which it stands in
 * the record (see `SampleLayout`).
 */

export const PERF_SAMPLE_IP = 1 << 0;
export const PERF_SAMPLE_TID = 1 << 1;
export const PERF_SAMPLE_TIME = 1 << 2;
export const PERF_SAMPLE_ADDR = 1 << 3;
export const PERF_SAMPLE_READ = 1 << 4;
export const PERF_SAMPLE_CALLCHAIN = 1 << 5;
export const PERF_SAMPLE_ID = 1 << 6;
export const PERF_SAMPLE_CPU = 1 << 7;
export const PERF_SAMPLE_PERIOD = 1 << 8;
export const PERF_SAMPLE_STREAM_ID = 1 << 9;
export const PERF_SAMPLE_RAW = 1 << 10;
export const PERF_SAMPLE_BRANCH_STACK = 1 << 11;
export const PERF_SAMPLE_REGS_USER = 1 << 12;
export const PERF_SAMPLE_STACK_USER = 1 << 13;
export const PERF_SAMPLE_WEIGHT = 1 << 14;
export const PERF_SAMPLE_DATA_SRC = 1 << 15;
export const PERF_SAMPLE_IDENTIFIER = 1 << 16;
export const PERF_SAMPLE_TRANSACTION = 1 << 17;
export const PERF_SAMPLE_REGS_INTR = 1 << 18;
export const PERF_SAMPLE_PHYS_ADDR = 1 << 19;
export const PERF_SAMPLE_AUX = 1 << 20;
export const PERF_SAMPLE_CGROUP = 1 << 21;
export const PERF_SAMPLE_DATA_PAGE_SIZE = 1 << 22;
export const PERF_SAMPLE_CODE_PAGE_SIZE = 1 << 23;
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

/** `attr.branch_sample_type`. */
export const PERF_SAMPLE_BRANCH_USER = 1 << 0;
export const PERF_SAMPLE_BRANCH_KERNEL = 1 << 1;
export const PERF_SAMPLE_BRANCH_HV = 1 << 2;
export const PERF_SAMPLE_BRANCH_ANY = 1 << 3;
export const PERF_SAMPLE_BRANCH_ANY_CALL = 1 << 4;
export const PERF_SAMPLE_BRANCH_ANY_RETURN = 1 << 5;
export const PERF_SAMPLE_BRANCH_CALL_STACK = 1 << 11;
/** A hardware index of 8 bytes stands between the count and the entries. */
export const PERF_SAMPLE_BRANCH_HW_INDEX = 1 << 17;
/** After the entries: one more 64-bit word of counters per entry. */
export const PERF_SAMPLE_BRANCH_COUNTERS = 1 << 19;

/** Register sets of REGS_USER and REGS_INTR. */
export const PERF_SAMPLE_REGS_ABI_NONE = 0;
export const PERF_SAMPLE_REGS_ABI_32 = 1;
export const PERF_SAMPLE_REGS_ABI_64 = 2;
