/** `attr.type` and the generic `attr.config` values. Names as perf prints them. */

/** Events that the kernel finds on every CPU: `config` is an index of HARDWARE_EVENTS. */
export const PERF_TYPE_HARDWARE = 0;
/** Events that the kernel counts itself: `config` is an index of SOFTWARE_EVENTS. */
export const PERF_TYPE_SOFTWARE = 1;
/** Tracepoints: `config` is the id that tracefs gives one. */
export const PERF_TYPE_TRACEPOINT = 2;
/** Caches: `config` is made of CACHE_NAMES, CACHE_OPERATIONS and CACHE_RESULTS. */
export const PERF_TYPE_HW_CACHE = 3;
/** Events of the core's PMU by its own code: `config` is what the CPU's manual says. */
export const PERF_TYPE_RAW = 4;
/** Hardware breakpoints: `config1` is the address, `config2` the bytes, `breakpointType` the access. */
export const PERF_TYPE_BREAKPOINT = 5;
/**
 * Of perf, not of the kernel: made out of a hardware trace, and no count of
 * anything (tools/perf/util/event.h).
 */
export const PERF_TYPE_SYNTH = 0x8000_0000;

/** On hybrid machines the upper half of `config` of generic hardware events names the PMU. */
export const PERF_PMU_TYPE_SHIFT = 32;

/** Names of the events of PERF_TYPE_HARDWARE, by their `config`. */
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

/** `config` of cycles: they follow the CPU's real frequency. */
export const PERF_COUNT_HW_CPU_CYCLES = 0;

/** Names of the events of PERF_TYPE_SOFTWARE, by their `config`. */
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

/** `config` of cpu-clock: nanoseconds, by a timer of the CPU. */
export const PERF_COUNT_SW_CPU_CLOCK = 0;
/** `config` of task-clock: nanoseconds that the task ran. */
export const PERF_COUNT_SW_TASK_CLOCK = 1;
/** `config` of context-switches. */
export const PERF_COUNT_SW_CONTEXT_SWITCHES = 3;
/** `config` of cpu-migrations: moves to another CPU. */
export const PERF_COUNT_SW_CPU_MIGRATIONS = 4;
/** `config` of dummy: it counts nothing, for records other than samples (Linux 3.12). */
export const PERF_COUNT_SW_DUMMY = 9;
/** `config` of bpf-output: what BPF programs send with perf_event_output (Linux 4.4). */
export const PERF_COUNT_SW_BPF_OUTPUT = 10;
/** `config` of cgroup-switches: context switches to a task of another cgroup (Linux 5.13). */
export const PERF_COUNT_SW_CGROUP_SWITCHES = 11;

/** Names of caches. A cache event's config = cache | operation << 8 | result << 16, each by its index. */
export const CACHE_NAMES: readonly string[] = [
  'L1-dcache',
  'L1-icache',
  'LLC',
  'dTLB',
  'iTLB',
  'branch',
  'node',
];
/** Accesses to a cache: one, and several, as in `LLC-load-misses` and `LLC-loads`. */
export const CACHE_OPERATIONS: readonly (readonly [string, string])[] = [
  ['load', 'loads'],
  ['store', 'stores'],
  ['prefetch', 'prefetches'],
];
/** Results of accesses to a cache. */
export const CACHE_RESULTS: readonly string[] = ['refs', 'misses'];
