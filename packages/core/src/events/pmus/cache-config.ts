/**
 * Numbers of the generic events (linux/perf_event.h `perf_hw_id`,
 * `perf_hw_cache_id`); names are in `abi/events`.
 */

export const HW_CYCLES = 0;
export const HW_INSTRUCTIONS = 1;
export const HW_CACHE_REFERENCES = 2;
export const HW_CACHE_MISSES = 3;
export const HW_BRANCHES = 4;
export const HW_BRANCH_MISSES = 5;
export const HW_BUS_CYCLES = 6;
export const HW_STALLED_FRONTEND = 7;
export const HW_STALLED_BACKEND = 8;
export const HW_REF_CYCLES = 9;

export const CACHE_L1D = 0;
export const CACHE_L1I = 1;
export const CACHE_LL = 2;
export const CACHE_DTLB = 3;
export const CACHE_ITLB = 4;
export const CACHE_BPU = 5;
export const CACHE_NODE = 6;

export const CACHE_READ = 0;
export const CACHE_WRITE = 1;
export const CACHE_PREFETCH = 2;

export const CACHE_ACCESS = 0;
export const CACHE_MISS = 1;

/** `attr.config` of a PERF_TYPE_HW_CACHE event. */
export function cacheConfig(cache: number, operation: number, result: number): number {
  return cache | (operation << 8) | (result << 16);
}

/** Rows `[cache, operation, result, code]` as a map from config to code. */
export function cacheMap(
  rows: readonly (readonly [number, number, number, number])[],
): ReadonlyMap<number, bigint> {
  return new Map(
    rows.map(([cache, operation, result, code]) => [cacheConfig(cache, operation, result), BigInt(code)]),
  );
}

/** Rows `[number, code]` as the map of generic events. */
export function genericMap(rows: readonly (readonly [number, number])[]): ReadonlyMap<number, bigint> {
  return new Map(rows.map(([number, code]) => [number, BigInt(code)]));
}
