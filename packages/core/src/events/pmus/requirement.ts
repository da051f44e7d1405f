import {
  CACHE_NAMES,
  CACHE_OPERATIONS,
  CACHE_RESULTS,
  HARDWARE_EVENTS,
  PERF_PMU_TYPE_SHIFT,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_HW_CACHE,
  PERF_TYPE_RAW,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '../../format/abi/index.ts';
import type { EventRequirement, PmuModel } from './types.ts';

/** The part of `perf_event_attr` that is looked at; `ParsedEvent.attr` of the room `names` is one. */
export interface CountedAttr {
  /** PERF_TYPE_*, or the type of a PMU. */
  readonly type: number;
  /** Which event of that type. */
  readonly config: bigint;
  /** More of it, where the PMU has a second word. */
  readonly config1: bigint;
  /** Each 0 or 1. Of a group those of the leader count. */
  readonly flags: { readonly pinned: number; readonly exclusive: number };
}

/** What an attr needs of this PMU. */
export type Need =
  | { readonly kind: 'counter'; readonly requirement: EventRequirement; readonly config: bigint }
  /** The kernel counts it itself. */
  | { readonly kind: 'software' }
  /** It belongs to a PMU other than this one. */
  | { readonly kind: 'other-pmu' };

export function needOf(model: PmuModel, { type, config, config1 }: CountedAttr): Need {
  // Breakpoints use the debug registers, not the PMU.
  if (type === PERF_TYPE_SOFTWARE || type === PERF_TYPE_TRACEPOINT || type === PERF_TYPE_BREAKPOINT) {
    return { kind: 'software' };
  }
  if (type === PERF_TYPE_HARDWARE || type === PERF_TYPE_HW_CACHE) {
    const pmuType = Number(config >> BigInt(PERF_PMU_TYPE_SHIFT));
    if (pmuType !== 0 && pmuType !== model.pmuType) return { kind: 'other-pmu' };
    return genericNeed(model, type, Number(config & 0xffff_ffffn), config1);
  }
  if (type !== PERF_TYPE_RAW && type !== model.pmuType) return { kind: 'other-pmu' };
  return { kind: 'counter', requirement: model.requirementOf({ config, config1 }), config };
}

function genericNeed(model: PmuModel, type: number, number: number, config1: bigint): Need {
  const isCache = type === PERF_TYPE_HW_CACHE;
  if (isCache && model.cache === null) {
    // The kernel knows which event it is; of those none is bound to a counter on the
    // models it describes by itself.
    const places = model.counters.flatMap(({ kind }, position) => (kind === 'general' ? [[position]] : []));
    const refusal = 'this CPU has no performance counters';
    return { kind: 'counter', requirement: places.length > 0 ? { places } : { places, refusal }, config: 0n };
  }
  const config = (isCache ? model.cache! : model.generic).get(number);
  if (config === undefined) {
    const name = isCache ? cacheName(number) : (HARDWARE_EVENTS[number] ?? `hardware event ${number}`);
    const refusal = `${model.title} has no event for ${name}`;
    return { kind: 'counter', requirement: { places: [], refusal }, config: 0n };
  }
  return { kind: 'counter', requirement: model.requirementOf({ config, config1 }), config };
}

function cacheName(number: number): string {
  const cache = CACHE_NAMES[number & 0xff] ?? `cache ${number & 0xff}`;
  const operation = CACHE_OPERATIONS[(number >>> 8) & 0xff]?.[0] ?? 'access';
  const result = CACHE_RESULTS[(number >>> 16) & 0xff] ?? 'result';
  return `${cache}-${operation}-${result}`;
}
