import {
  CACHE_NAMES,
  CACHE_OPERATIONS,
  CACHE_RESULTS,
  HARDWARE_EVENTS,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_HW_CACHE,
  PERF_TYPE_RAW,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
  SOFTWARE_EVENTS,
} from '../../format/abi/index.ts';
import type { AttrFlags, PerfEventAttr } from '../../format/records/index.ts';
import { BREAKPOINT_ACCESS, isValidCacheOperation } from './facts.ts';

/** On hybrid machines the upper half of `config` names the PMU; the event is in the lower. */
const GENERIC_CONFIG = 0xffff_ffffn;

/**
 * The name of an event that has only its attr: what perf prints for a file without event names. Events of a
 * dynamic PMU have numbers that mean nothing on another machine, so they are named by them.
 */
export function eventNameFromAttr(attr: PerfEventAttr): string {
  switch (attr.type) {
    case PERF_TYPE_HARDWARE:
      return (genericName(HARDWARE_EVENTS, attr.config) ?? 'unknown-hardware') + modifierSuffix(attr.flags);
    case PERF_TYPE_SOFTWARE:
      return (genericName(SOFTWARE_EVENTS, attr.config) ?? 'unknown-software') + modifierSuffix(attr.flags);
    case PERF_TYPE_HW_CACHE:
      return cacheName(attr.config) + modifierSuffix(attr.flags);
    case PERF_TYPE_RAW:
      return `raw 0x${attr.config.toString(16)}${modifierSuffix(attr.flags)}`;
    case PERF_TYPE_BREAKPOINT:
      return breakpointName(attr) + modifierSuffix(attr.flags);
    case PERF_TYPE_TRACEPOINT:
      return 'unknown tracepoint';
    default:
      return `unknown attr type: ${attr.type}`;
  }
}

function genericName(names: readonly string[], config: bigint): string | undefined {
  const index = config & GENERIC_CONFIG;
  return index < BigInt(names.length) ? names[Number(index)] : undefined;
}

/** `L1-dcache-loads`, `LLC-load-misses`: config is cache | operation << 8 | result << 16. */
export function cacheName(config: bigint): string {
  const generic = Number(config & GENERIC_CONFIG);
  const cache = CACHE_NAMES[generic & 0xff];
  if (cache === undefined) return 'unknown-ext-hardware-cache-type';
  const operationIndex = (generic >>> 8) & 0xff;
  const operation = CACHE_OPERATIONS[operationIndex];
  if (operation === undefined) return 'unknown-ext-hardware-cache-op';
  const resultIndex = (generic >>> 16) & 0xff;
  const result = CACHE_RESULTS[resultIndex];
  if (result === undefined) return 'unknown-ext-hardware-cache-result';
  if (!isValidCacheOperation(generic & 0xff, operationIndex)) return 'invalid-cache';
  return resultIndex === 0 ? `${cache}-${operation[1]}` : `${cache}-${operation[0]}-${result}`;
}

function breakpointName(attr: PerfEventAttr): string {
  let access = '';
  for (const [letter, bit] of BREAKPOINT_ACCESS) if (attr.breakpointType & bit) access += letter;
  return `mem:0x${attr.config1.toString(16)}:${access}`;
}

/**
 * `:k`, `:uppH`: what an attr leaves out, as the letters of what it keeps.
 *
 * perf excludes guests by default. Its rule prints H and G when the host is excluded, or when `exclude_guest`
 * is 0 in a plain event or 1 in one with k, u, h or p. So perf's own `cpu-clock:u` reads `cpu-clock:uH` once
 * its name is lost; checked against perf 6.1 on files whose names were cut off.
 */
function modifierSuffix(flags: AttrFlags): string {
  let letters = '';
  let excludesGuest = 0;
  if (flags.excludeKernel || flags.excludeUser || flags.excludeHv) {
    if (!flags.excludeKernel) letters += 'k';
    if (!flags.excludeUser) letters += 'u';
    if (!flags.excludeHv) letters += 'h';
    excludesGuest = 1;
  }
  if (flags.preciseIp > 0) {
    letters += 'p'.repeat(flags.preciseIp);
    excludesGuest = 1;
  }
  if (flags.excludeHost || flags.excludeGuest === excludesGuest) {
    if (!flags.excludeHost) letters += 'H';
    if (!flags.excludeGuest) letters += 'G';
  }
  return letters === '' ? '' : `:${letters}`;
}
