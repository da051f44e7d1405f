import {
  PERF_PMU_TYPE_SHIFT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_HW_CACHE,
  PERF_TYPE_RAW,
} from '../../format/abi/index.ts';
import type { EventLookup, PmuDescription } from './types.ts';

/**
 * The PMUs that count for CPUs: one, or one for each kind of core. None where the
 * machine shows no hardware PMU.
 */
export function corePmus(lookup: EventLookup): PmuDescription[] {
  const found: PmuDescription[] = [];
  for (const name of lookup.pmuNames()) {
    const pmu = lookup.pmu(name);
    if (pmu?.isCore === true) found.push(pmu);
  }
  return found;
}

/**
 * A generic event as one kind of core counts it (include/uapi/linux/perf_event.h, PERF_PMU_TYPE_SHIFT):
 *
 *   HARDWARE, HW_CACHE   config  [ type of the PMU | event ]
 *                                 63            32 31    0
 *   RAW                  type    the PMU's own
 */
export function onCore(type: number, config: bigint, pmu: PmuDescription): { type: number; config: bigint } {
  return type === PERF_TYPE_RAW
    ? { type: pmu.type, config }
    : { type, config: config | (BigInt(pmu.type) << BigInt(PERF_PMU_TYPE_SHIFT)) };
}

/**
 * Whether a kind of core must be named to the kernel: it would otherwise choose one,
 * and count nothing on the others.
 */
export function dependsOnCore(type: number, config: bigint): boolean {
  if (type === PERF_TYPE_RAW) return true;
  return (
    (type === PERF_TYPE_HARDWARE || type === PERF_TYPE_HW_CACHE) &&
    config >> BigInt(PERF_PMU_TYPE_SHIFT) === 0n
  );
}
