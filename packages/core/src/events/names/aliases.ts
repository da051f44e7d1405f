/** Other names that perf takes for the kernel's generic events (tools/perf/util/parse-events.c, evsel.c). */

/** By the name that perf prints. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  cycles: ['cpu-cycles'],
  branches: ['branch-instructions'],
  'stalled-cycles-frontend': ['idle-cycles-frontend'],
  'stalled-cycles-backend': ['idle-cycles-backend'],
  'page-faults': ['faults'],
  'context-switches': ['cs'],
  'cpu-migrations': ['migrations'],
  // Caches.
  'L1-dcache': ['l1-d', 'l1d', 'L1-data'],
  'L1-icache': ['l1-i', 'l1i', 'L1-instruction'],
  LLC: ['L2'],
  dTLB: ['d-tlb', 'Data-TLB'],
  iTLB: ['i-tlb', 'Instruction-TLB'],
  branch: ['branches', 'bpu', 'btb', 'bpc'],
  // What is done to them, and how it ends.
  load: ['read'],
  store: ['write'],
  prefetch: ['speculative-read', 'speculative-load'],
  refs: ['Reference', 'ops', 'access'],
  misses: ['miss'],
};

/** The names and every other for the first of them. */
export function withAliases(...names: readonly [string, ...string[]]): readonly string[] {
  return [...names, ...(ALIASES[names[0]] ?? [])];
}
