/** Facts of event names that are perf's, not the kernel's ABI. */

/** `perf_event_open(2)`, hw_breakpoint: letter and bit of `bp_type`. */
export const BREAKPOINT_ACCESS: readonly (readonly [string, number])[] = [
  ['r', 1],
  ['w', 2],
  ['x', 4],
];

const LOAD = 1;
const STORE = 2;
const PREFETCH = 4;

/**
 * Which operations each cache has, in the order of `CACHE_NAMES`: an instruction cache is never stored to.
 */
const CACHE_HAS: readonly number[] = [
  LOAD | STORE | PREFETCH, // L1-dcache
  LOAD | PREFETCH, // L1-icache
  LOAD | STORE | PREFETCH, // LLC
  LOAD | STORE | PREFETCH, // dTLB
  LOAD, // iTLB
  LOAD, // branch
  LOAD | STORE | PREFETCH, // node
];

export function isValidCacheOperation(cache: number, operation: number): boolean {
  return ((CACHE_HAS[cache] ?? 0) & (1 << operation)) !== 0;
}
