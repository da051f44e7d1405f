import { HARDWARE_EVENTS, SOFTWARE_EVENTS } from '../../format/abi/index.ts';
import { withAliases } from './aliases.ts';
import { DESCRIPTIONS, describeCacheEvent, KERNEL_EVENT_DESCRIPTIONS } from './descriptions.ts';
import { cacheEventNames, findCacheEvent, NAMED_EVENTS } from './names.ts';
import type { EventLookup } from './types.ts';

/** Kinds of events, in the order in which they are listed. */
export const EVENT_KINDS = [
  'hardware',
  'software',
  'cache',
  'tool',
  'pmu',
  'table',
  'tracepoint',
  'form',
] as const;
/**
 * What an event comes from: the kernel's generic ones, a PMU's own (`pmu`), a vendor's `table`;
 * `form` is one to be filled in.
 */
export type EventKind = (typeof EVENT_KINDS)[number];

/** One event, or one form of events, that can be asked for. */
export interface CatalogEvent {
  /** As it is given to `-e`. */
  readonly name: string;
  /** Other names of the same event; `name` is not among them. */
  readonly aliases: readonly string[];
  /** Under which heading it is listed. */
  readonly kind: EventKind;
  /** The PMU it is on, by its name; `null` for a generic event. */
  readonly pmu: string | null;
  /** For people; `null`: no table has one. */
  readonly description: string | null;
  /** What the count is in, once it is multiplied by `scale`; `null`: it is a number of events. */
  readonly unit: string | null;
  /** Factor of the count; `null`: 1. */
  readonly scale: number | null;
  /** What the kernel's or a vendor's table says it is. */
  readonly terms: string | null;
  /** Where it stands in a vendor's table, and what else that says. */
  readonly source: string | null;
  /** What else the table says, a sentence each. */
  readonly details: readonly string[];
  /** The vendor's period for sampling; `null`: none is suggested. */
  readonly samplePeriod: bigint | null;
  /** Whose it is, where this machine does not have its PMU. */
  readonly foreign: string | null;
}

/**
 * Every event that has a name, and the forms of those that have none. Tracepoints only
 * on request: they are thousands.
 */
export function* catalogEvents(
  lookup: EventLookup,
  wanted: (kind: EventKind) => boolean = () => true,
): Generator<CatalogEvent> {
  if (wanted('hardware')) for (const name of HARDWARE_EVENTS) yield generic('hardware', withAliases(name));
  if (wanted('software')) for (const name of SOFTWARE_EVENTS) yield generic('software', withAliases(name));
  if (wanted('cache')) {
    for (const name of cacheEventNames()) {
      const found = findCacheEvent(name);
      const config = found === null || 'problem' in found ? null : found.config;
      yield {
        ...generic('cache', [name]),
        description: config === null ? null : describeCacheEvent(config),
      };
    }
  }
  if (wanted('tool')) {
    for (const [name, { tool }] of NAMED_EVENTS) {
      if (tool !== undefined) yield { ...generic('tool', [name]), unit: 'ns' };
    }
  }
  if (wanted('pmu')) yield* pmuEvents(lookup, 'pmu');
  if (wanted('table')) yield* pmuEvents(lookup, 'table');
  if (wanted('tracepoint')) {
    for (const name of lookup.tracepointNames()) yield generic('tracepoint', [name]);
  }
  if (wanted('form')) yield* forms(lookup);
}

function generic(kind: EventKind, [name = '', ...aliases]: readonly string[]): CatalogEvent {
  const description = DESCRIPTIONS[name] ?? null;
  return {
    name,
    aliases,
    kind,
    pmu: null,
    description,
    unit: null,
    scale: null,
    terms: null,
    source: null,
    details: [],
    samplePeriod: null,
    foreign: null,
  };
}

/** Events of the kernel's tables, or those of a vendor's. */
function* pmuEvents(lookup: EventLookup, kind: 'pmu' | 'table'): Generator<CatalogEvent> {
  const own = lookup.pmuNames().map((name) => lookup.pmu(name));
  for (const pmu of [...own, ...(kind === 'table' ? (lookup.absentPmus?.() ?? []) : [])]) {
    if (pmu === null) continue;
    for (const [event, known] of pmu.events) {
      if ((known.source === undefined ? 'pmu' : 'table') !== kind) continue;
      yield {
        name: `${pmu.name}/${event}/`,
        aliases: [],
        kind,
        pmu: pmu.name,
        description: known.description ?? KERNEL_EVENT_DESCRIPTIONS[`${pmu.name}/${event}`] ?? null,
        unit: known.unit ?? null,
        scale: known.scale ?? null,
        terms: known.terms,
        source: known.source ?? null,
        details: known.details ?? [],
        samplePeriod: known.samplePeriod ?? null,
        foreign: pmu.foreign ?? null,
      };
    }
  }
}

/** What can be written though nobody has named it. */
function* forms(lookup: EventLookup): Generator<CatalogEvent> {
  const form = (name: string, description: string, pmu: string | null = null): CatalogEvent => ({
    ...generic('form', [name]),
    description,
    pmu,
  });
  yield form('rNNN', "an event of the CPU's core by its code in hexadecimal");
  yield form('TYPE:CONFIG', "attr.type and attr.config of perf_event_open, as numbers: '4:0x3c'");
  yield form('mem:ADDRESS[/LENGTH][:rwx]', 'accesses to an address, by a hardware breakpoint');
  for (const pmuName of lookup.pmuNames()) {
    const pmu = lookup.pmu(pmuName);
    if (pmu === null) continue;
    if (pmuName === 'uprobe') {
      yield form('uprobe:FILE:FUNCTION[+OFFSET]', 'a function of a program or library is entered', pmuName);
      yield form('uretprobe:FILE:FUNCTION', 'such a function returns', pmuName);
    } else if (pmuName === 'kprobe') {
      yield form('kprobe:FUNCTION[+OFFSET]', 'a function of the kernel is entered', pmuName);
      yield form('kretprobe:FUNCTION', 'such a function returns', pmuName);
    } else if (pmu.formats.size > 0) {
      const terms = [...pmu.formats].map(([term, bits]) => `${term} (${bits})`).join(', ');
      yield form(`${pmuName}/${[...pmu.formats.keys()][0]}=…/`, `terms: ${terms}`, pmuName);
    }
  }
}
