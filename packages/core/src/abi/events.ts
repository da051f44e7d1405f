/** `attr.type` and the generic `attr.config` values. Names as perf prints them; aliases after the first. */

export const PERF_TYPE_HARDWARE = 0;
export const PERF_TYPE_SOFTWARE = 1;
export const PERF_TYPE_TRACEPOINT = 2;
export const PERF_TYPE_HW_CACHE = 3;
export const PERF_TYPE_RAW = 4;
export const PERF_TYPE_BREAKPOINT = 5;
/**
 * Of perf, not of the kernel: made out of a hardware trace, and no count of
 * anything (tools/perf/util/event.h).
 */
export const PERF_TYPE_SYNTH = 0x8000_0000;

/** On hybrid machines the upper half of `config` of generic hardware events names the PMU. */
export const PERF_PMU_TYPE_SHIFT = 32;

export const HARDWARE_EVENTS: readonly (readonly string[])[] = [
  ['cycles', 'cpu-cycles'],
  ['instructions'],
  ['cache-references'],
  ['cache-misses'],
  ['branches', 'branch-instructions'],
  ['branch-misses'],
  ['bus-cycles'],
  ['stalled-cycles-frontend', 'idle-cycles-frontend'],
  ['stalled-cycles-backend', 'idle-cycles-backend'],
  ['ref-cycles'],
];

export const PERF_COUNT_HW_CPU_CYCLES = 0;

export const SOFTWARE_EVENTS: readonly (readonly string[])[] = [
  ['cpu-clock'],
  ['task-clock'],
  ['page-faults', 'faults'],
  ['context-switches', 'cs'],
  ['cpu-migrations', 'migrations'],
  ['minor-faults'],
  ['major-faults'],
  ['alignment-faults'],
  ['emulation-faults'],
  ['dummy'],
  ['bpf-output'],
  ['cgroup-switches'],
];

export const PERF_COUNT_SW_CPU_CLOCK = 0;
export const PERF_COUNT_SW_TASK_CLOCK = 1;
export const PERF_COUNT_SW_CONTEXT_SWITCHES = 3;
export const PERF_COUNT_SW_CPU_MIGRATIONS = 4;
export const PERF_COUNT_SW_DUMMY = 9;
export const PERF_COUNT_SW_BPF_OUTPUT = 10;
export const PERF_COUNT_SW_CGROUP_SWITCHES = 11;

/** Cache events: config = cache | operation << 8 | result << 16. */
export const CACHE_NAMES: readonly (readonly string[])[] = [
  ['L1-dcache', 'l1-d', 'l1d', 'L1-data'],
  ['L1-icache', 'l1-i', 'l1i', 'L1-instruction'],
  ['LLC', 'L2'],
  ['dTLB', 'd-tlb', 'Data-TLB'],
  ['iTLB', 'i-tlb', 'Instruction-TLB'],
  ['branch', 'branches', 'bpu', 'btb', 'bpc'],
  ['node'],
];
export const CACHE_OPERATIONS: readonly (readonly string[])[] = [
  ['load', 'loads', 'read'],
  ['store', 'stores', 'write'],
  ['prefetch', 'prefetches', 'speculative-read', 'speculative-load'],
];
export const CACHE_RESULTS: readonly (readonly string[])[] = [
  ['refs', 'Reference', 'ops', 'access'],
  ['misses', 'miss'],
];
