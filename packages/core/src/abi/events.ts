/** `attr.type` and the generic `attr.config` values. Names as perf prints them. */

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

export const HARDWARE_EVENTS: readonly string[] = [
  'cycles',
  'instructions',
  'cache-references',
  'cache-misses',
  'branches',
  'branch-misses',
  'bus-cycles',
  'stalled-cycles-frontend',
  'stalled-cycles-backend',
  'ref-cycles',
];

export const PERF_COUNT_HW_CPU_CYCLES = 0;

export const SOFTWARE_EVENTS: readonly string[] = [
  'cpu-clock',
  'task-clock',
  'page-faults',
  'context-switches',
  'cpu-migrations',
  'minor-faults',
  'major-faults',
  'alignment-faults',
  'emulation-faults',
  'dummy',
  'bpf-output',
  'cgroup-switches',
];

export const PERF_COUNT_SW_CPU_CLOCK = 0;
export const PERF_COUNT_SW_TASK_CLOCK = 1;
export const PERF_COUNT_SW_CONTEXT_SWITCHES = 3;
export const PERF_COUNT_SW_CPU_MIGRATIONS = 4;
export const PERF_COUNT_SW_DUMMY = 9;
export const PERF_COUNT_SW_BPF_OUTPUT = 10;
export const PERF_COUNT_SW_CGROUP_SWITCHES = 11;

/** Cache events: config = cache | operation << 8 | result << 16. */
export const CACHE_NAMES: readonly string[] = [
  'L1-dcache',
  'L1-icache',
  'LLC',
  'dTLB',
  'iTLB',
  'branch',
  'node',
];
/** One, and several: `LLC-load-misses`, `LLC-loads`. */
export const CACHE_OPERATIONS: readonly (readonly [string, string])[] = [
  ['load', 'loads'],
  ['store', 'stores'],
  ['prefetch', 'prefetches'],
];
export const CACHE_RESULTS: readonly string[] = ['refs', 'misses'];
