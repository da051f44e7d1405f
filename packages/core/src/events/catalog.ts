import { HARDWARE_EVENTS, SOFTWARE_EVENTS } from '../abi/index.ts';
import { DESCRIPTIONS, describeCacheEvent, KERNEL_EVENT_DESCRIPTIONS } from './descriptions.ts';
import { cacheEventNames, findCacheEvent, NAMED_EVENTS } from './names.ts';
import type { EventLookup, PmuDescription, PmuEvent } from './types.ts';

/** Kinds of events, in the order in which they are listed. */
export const EVENT_KINDS = ['hardware', 'software', 'cache', 'tool', 'pmu', 'tracepoint', 'form'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** One event, or one form of events, that can be asked for. */
export interface CatalogEvent {
  /** As it is given to `-e`. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly kind: EventKind;
  readonly pmu: string | null;
  readonly description: string | null;
  readonly unit: string | null;
  readonly scale: number | null;
  /** What the kernel's table says it is. */
  readonly terms: string | null;
}

/** Every event that has a name, and the forms of those that have none. Tracepoints only on request: they are thousands. */
export function* catalogEvents(
  lookup: EventLookup,
  wanted: (kind: EventKind) => boolean = () => true,
): Generator<CatalogEvent> {
  if (wanted('hardware')) for (const names of HARDWARE_EVENTS) yield generic('hardware', names);
  if (wanted('software')) for (const names of SOFTWARE_EVENTS) yield generic('software', names);
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
  if (wanted('pmu')) yield* pmuEvents(lookup);
  if (wanted('tracepoint')) {
    for (const name of lookup.tracepointNames()) yield generic('tracepoint', [name]);
  }
  if (wanted('form')) yield* forms(lookup);
}

function generic(kind: EventKind, [name = '', ...aliases]: readonly string[]): CatalogEvent {
  const description = DESCRIPTIONS[name] ?? null;
  return { name, aliases, kind, pmu: null, description, unit: null, scale: null, terms: null };
}

/** Events of the kernel's tables. */
function* pmuEvents(lookup: EventLookup): Generator<CatalogEvent> {
  for (const pmuName of lookup.pmuNames()) {
    const pmu = lookup.pmu(pmuName);
    for (const [event, { terms, description, unit, scale }] of pmu?.events ?? []) {
      yield {
        name: `${pmuName}/${event}/`,
        aliases: [],
        kind: 'pmu',
        pmu: pmuName,
        description: description ?? KERNEL_EVENT_DESCRIPTIONS[`${pmuName}/${event}`] ?? null,
        unit: unit ?? null,
        scale: scale ?? null,
        terms,
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

/** A lookup whose PMU knows more events: those of a vendor's tables. The kernel's own come first. */
export function withPmuEvents(
  lookup: EventLookup,
  /** By PMU, then by event. */
  more: ReadonlyMap<string, ReadonlyMap<string, PmuEvent>>,
): EventLookup {
  const extended = new Map<string, PmuDescription | null>();
  return {
    ...lookup,
    pmu(name) {
      const known = extended.get(name);
      if (known !== undefined) return known;
      const pmu = lookup.pmu(name);
      const events = more.get(name);
      const whole =
        pmu === null || events === undefined
          ? pmu
          : {
              name: pmu.name,
              type: pmu.type,
              formats: pmu.formats,
              events: new Map([...events, ...pmu.events]),
              ...(pmu.defaultConfig === undefined ? {} : { defaultConfig: pmu.defaultConfig }),
              ...(pmu.cpus === undefined ? {} : { cpus: pmu.cpus }),
              ...(pmu.isCore === undefined ? {} : { isCore: pmu.isCore }),
            };
      extended.set(name, whole);
      return whole;
    },
  };
}
