import {
  CACHE_NAMES,
  CACHE_OPERATIONS,
  CACHE_RESULTS,
  HARDWARE_EVENTS,
  PERF_COUNT_SW_DUMMY,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_HW_CACHE,
  PERF_TYPE_SOFTWARE,
  SOFTWARE_EVENTS,
} from '../../format/abi/index.ts';
import { withAliases } from './aliases.ts';
import { cacheName } from './attr-name.ts';
import { isValidCacheOperation } from './facts.ts';
import type { ToolEvent } from './types.ts';

/** An event that every kernel knows by name. */
export interface NamedEvent {
  /** `attr.type`: PERF_TYPE_HARDWARE or PERF_TYPE_SOFTWARE. */
  readonly type: number;
  /** `attr.config`: PERF_COUNT_HW_* or PERF_COUNT_SW_*. */
  readonly config: bigint;
  /** Present where the tool measures it; type and config are then those of the dummy event. */
  readonly tool?: ToolEvent;
}

const TOOL_EVENTS: readonly ToolEvent[] = ['duration_time', 'user_time', 'system_time'];

/** Generic hardware and software events, and those of the tool itself, by every name they have. */
export const NAMED_EVENTS: ReadonlyMap<string, NamedEvent> = /* @__PURE__ */ namedEvents();

function namedEvents(): Map<string, NamedEvent> {
  return new Map([
    ...byName(HARDWARE_EVENTS, PERF_TYPE_HARDWARE),
    ...byName(SOFTWARE_EVENTS, PERF_TYPE_SOFTWARE),
    // perf opens the dummy event in their place, so that they have a row.
    ...TOOL_EVENTS.map((tool): [string, NamedEvent] => [
      tool,
      { type: PERF_TYPE_SOFTWARE, config: BigInt(PERF_COUNT_SW_DUMMY), tool },
    ]),
  ]);
}

function byName(names: readonly string[], type: number): [string, NamedEvent][] {
  return names.flatMap((first, index) =>
    withAliases(first).map((name): [string, NamedEvent] => [name, { type, config: BigInt(index) }]),
  );
}

const CACHES = /* @__PURE__ */ CACHE_NAMES.map((name) => withAliases(name));
const OPERATIONS = /* @__PURE__ */ CACHE_OPERATIONS.map((names) => withAliases(...names));
const RESULTS = /* @__PURE__ */ CACHE_RESULTS.map((name) => withAliases(name));

type CacheEvent = { type: number; config: bigint } | { problem: string };

/**
 * `L1-dcache-load-misses`, `LLC`, `dTLB-misses-store`: a cache, then an operation and a result in any order,
 * each of which may be left out (a load; a reference). `null` when it is no cache event.
 */
export function findCacheEvent(name: string): CacheEvent | null {
  for (const [cache, rest] of splitAlias(name, CACHES)) {
    const found = findOperationAndResult(rest);
    if (found === null) continue;
    const { operation, result } = found;
    if (!isValidCacheOperation(cache, operation)) {
      return { problem: `${CACHE_NAMES[cache]} has no ${CACHE_OPERATIONS[operation]![1]}` };
    }
    return { type: PERF_TYPE_HW_CACHE, config: BigInt(cache | (operation << 8) | (result << 16)) };
  }
  return null;
}

function findOperationAndResult(rest: string): { operation: number; result: number } | null {
  if (rest === '') return { operation: 0, result: 0 };
  for (const [operation, after] of splitAlias(rest, OPERATIONS)) {
    if (after === '') return { operation, result: 0 };
    for (const [result, end] of splitAlias(after, RESULTS)) if (end === '') return { operation, result };
  }
  for (const [result, after] of splitAlias(rest, RESULTS)) {
    if (after === '') return { operation: 0, result };
    for (const [operation, end] of splitAlias(after, OPERATIONS))
      if (end === '') return { operation, result };
  }
  return null;
}

/** Ways to read the beginning of a name as one of the aliases, with what is left after the dash. */
function splitAlias(name: string, aliases: readonly (readonly string[])[]): [number, string][] {
  const found: [number, string][] = [];
  aliases.forEach((all, index) => {
    for (const alias of all) {
      if (name === alias) found.push([index, '']);
      else if (name.startsWith(`${alias}-`) && name.length > alias.length + 1)
        found.push([index, name.slice(alias.length + 1)]);
    }
  });
  return found;
}

/** Every cache event by its usual name, for near misses and lists. */
export function cacheEventNames(): string[] {
  const names: string[] = [];
  for (let cache = 0; cache < CACHE_NAMES.length; cache++) {
    for (let operation = 0; operation < CACHE_OPERATIONS.length; operation++) {
      if (!isValidCacheOperation(cache, operation)) continue;
      for (let result = 0; result < CACHE_RESULTS.length; result++) {
        names.push(cacheName(BigInt(cache | (operation << 8) | (result << 16))));
      }
    }
  }
  return names;
}
