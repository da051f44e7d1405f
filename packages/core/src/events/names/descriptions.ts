/** What the generic events count, in our words; by their first name. */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  cycles:
    'clock cycles of the core while it runs; slower when the core is clocked down, none while it sleeps',
  instructions: 'instructions that were carried out to the end (retired)',
  'cache-references': 'accesses that reached the last cache before memory (on most CPUs)',
  'cache-misses': 'accesses that the last cache could not serve: memory had to',
  branches: 'branch instructions that retired: jumps, calls, returns',
  'branch-misses': 'branches whose prediction was wrong, so that work was thrown away',
  'bus-cycles': 'cycles of the bus or of a clock that runs at one rate',
  'stalled-cycles-frontend':
    'cycles in which no instruction could be issued because none was fetched or decoded',
  'stalled-cycles-backend': 'cycles in which nothing advanced because units or data were missing',
  'ref-cycles': 'cycles at the rate of a fixed clock, whatever the core is clocked at',
  'cpu-clock': 'time on a CPU, by a timer of high resolution; what cycles are where there are no counters',
  'task-clock': 'time in which the task ran',
  'page-faults': 'pages that were not mapped when they were used, minor and major',
  'context-switches': 'times that a CPU went over to another task',
  'cpu-migrations': 'times that a task went to another CPU',
  'minor-faults': 'page faults that needed no reading from a disk',
  'major-faults': 'page faults that had to read from a disk',
  'alignment-faults': 'accesses at odd addresses that the kernel had to help with (not on x86)',
  'emulation-faults': 'instructions that the kernel carried out in software',
  dummy: 'nothing: it is there for the records that come with an event',
  'bpf-output': 'what BPF programs write with bpf_perf_event_output',
  'cgroup-switches': 'context switches to a task of another control group',
  duration_time: 'time from start to end, measured by the tool',
  user_time: 'time of the command and its children in user space, measured by the tool',
  system_time: 'time of the command and its children in the kernel, measured by the tool',
};

/** In the order of `CACHE_NAMES`. */
const CACHES = [
  'first data cache',
  'first instruction cache',
  'last cache before memory',
  'address translations of data (TLB)',
  'address translations of code (TLB)',
  'branch predictor',
  'memory of the own NUMA node',
] as const;

const OPERATIONS = ['reads', 'writes', 'prefetches'] as const;

/** `first data cache: reads that missed`; `config` is cache | operation << 8 | result << 16. */
export function describeCacheEvent(config: bigint): string | null {
  const cache = CACHES[Number(config & 0xffn)];
  const operation = OPERATIONS[Number((config >> 8n) & 0xffn)];
  if (cache === undefined || operation === undefined) return null;
  return `${cache}: ${operation}${(config >> 16n) & 0xffn ? ' that missed' : ''}`;
}

/** Events of PMUs that the kernel itself names, by `PMU/EVENT`. */
export const KERNEL_EVENT_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'msr/tsc': 'ticks of the time stamp counter',
  'msr/mperf': 'ticks at a fixed rate while the CPU does not sleep',
  'msr/aperf':
    'cycles at the real clock rate while the CPU does not sleep; aperf / mperf is how far it is clocked up',
  'msr/pperf': 'cycles of aperf in which work advanced',
  'msr/smi': 'interrupts into firmware (system management mode)',
  'msr/ptsc': 'ticks of the performance time stamp counter',
  'msr/irperf': 'instructions that retired, by a counter of its own',
  'power/energy-cores': 'energy of all cores of the package',
  'power/energy-pkg': 'energy of the whole package',
  'power/energy-ram': 'energy of the memory of the package',
  'power/energy-gpu': 'energy of the graphics of the package',
  'power/energy-psys': 'energy of the whole platform',
  'cpu/cpu-cycles': 'clock cycles of the core while it runs',
  'cpu/instructions': 'instructions that retired',
  'cpu/mem-loads': 'loads from memory that took at least ldlat cycles',
  'cpu/mem-stores': 'stores to memory',
  'cpu/slots': 'places for micro-operations, used or not: what the top-down method divides',
};
