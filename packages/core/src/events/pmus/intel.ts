import { buildModel, type EventRow, eventUmask, generalCounters, placesOf } from './build.ts';
import {
  genericMap,
  HW_BRANCH_MISSES,
  HW_BRANCHES,
  HW_BUS_CYCLES,
  HW_CACHE_MISSES,
  HW_CACHE_REFERENCES,
  HW_CYCLES,
  HW_INSTRUCTIONS,
  HW_REF_CYCLES,
} from './cache-config.ts';
import {
  INTEL_ARCHITECTURAL_EVENTS,
  INTEL_FIXED_EVENTS,
  INTEL_METRIC_EVENTS,
  INTEL_TERMS,
} from './intel-facts.ts';
import { type IntelCounters, readIntelCounters } from './intel-leaf.ts';
import type {
  CounterDescription,
  CpuIdentity,
  EventRequirement,
  EventWords,
  PmuFamily,
  PmuModel,
} from './types.ts';

/** rdpmc selects a fixed counter by this bit; the kernel's page index is that number plus one. */
const RDPMC_FIXED = 1 << 30;

/**
 * Bits of `config` beyond event and umask: edge 18, any 21, inv 23, cmask 24-31, in a transaction 32 and 33,
 * eq 36, more umask 40-47. (pc 19 the kernel ignores.)
 */
const QUALIFIERS = 0xff13_ffa4_0000n;

const SLOTS = { config: 0x0400n, name: 'slots' };

/**
 * Events whose second register (config1) is shared by all counters: [event, umask or
 * null for any, name, registers].
 */
const SHARED_REGISTERS: readonly (readonly [number, number | null, string, number])[] = [
  [0xb7, null, 'offcore-response', 2],
  [0xbb, null, 'offcore-response', 2],
  [0x2a, 0x01, 'offcore-response', 2],
  [0x2b, 0x01, 'offcore-response', 2],
  [0xc6, 0x01, 'frontend', 1],
  [0xcd, 0x01, 'load-latency', 1],
];

/**
 * Intel's architectural performance monitoring: what every Intel core since 2006 says of itself in CPUID
 * leaf 0xA (and from version 6 on in leaf 0x23). Events of one model, and counters that only some of them
 * know, come from the vendor's table (`vendor-json.ts`, `extend.ts`); without it a raw event is taken to be
 * known by every general counter.
 */
export const intelArchitectural: PmuFamily = {
  name: 'intel-architectural',
  matches: ({ architecture, vendor }) => architecture === 'x86' && vendor === 'GenuineIntel',
  describe,
};

function describe(identity: CpuIdentity): PmuModel {
  const known = readIntelCounters(identity);
  const metrics = INTEL_METRIC_EVENTS.filter(
    ({ sysfsName }) =>
      known.fixed.includes(3) && identity.pmuEvents?.has('slots') && identity.pmuEvents.has(sysfsName),
  );
  const counters: CounterDescription[] = [
    ...known.general.map((number) => generalCounters(number + 1, known.generalWidthBits)[number]!),
    ...known.fixed.map((number) => fixedCounter(number, known)),
    ...metrics.map(({ umask, name }) => metricCounter(umask - 0x80, name)),
  ];
  const requirementOf = (event: EventWords) => requirement(event, counters);
  return buildModel(
    {
      family: 'intel-architectural',
      title: `Intel architectural performance monitoring, version ${known.version ?? 'not known'}`,
      pmu: identity.pmu,
      pmuType: identity.pmuType,
      terms: INTEL_TERMS,
      counters,
      generic: genericEvents(known),
      cache: null,
      watchdog: identity.nmiWatchdog === true ? 0x003cn : null,
      requirementOf,
      notes: known.notes,
    },
    [...architecturalRows(known), ...fixedRows(known), ...metrics.map(metricRow)],
  );
}

function fixedCounter(number: number, known: IntelCounters): CounterDescription {
  const what = INTEL_FIXED_EVENTS[number]?.name ?? 'not described';
  return {
    name: `fixed ${number} (${what})`,
    kind: 'fixed',
    number,
    widthBits: known.fixedWidthBits,
    pageIndex: RDPMC_FIXED + number + 1,
  };
}

/** The shares of the slots stand in one register of eight 8-bit fractions (MSR PERF_METRICS). */
function metricCounter(number: number, what: string): CounterDescription {
  return { name: `metric ${number} (${what})`, kind: 'metric', number, widthBits: 8, pageIndex: null };
}

/**
 * Fixed counters count one event each, without edge, inversion or threshold. Codes with event
 * byte 0 stand for fixed counters only (linux arch/x86/events/intel/core.c,
 * FIXED_EVENT_CONSTRAINT); no general counter knows them.
 */
function requirement(event: EventWords, counters: readonly CounterDescription[]): EventRequirement {
  const code = Number(event.config & 0xffffn);
  const isPlain = (event.config & QUALIFIERS) === 0n;
  const eventByte = code & 0xff;
  const umask = code >> 8;
  if (eventByte === 0 && umask >= 0x80 && umask <= 0x87) {
    const places = placesOf(counters, ({ kind, number }) => kind === 'metric' && number === umask - 0x80);
    if (places.length > 0) return { places, leader: SLOTS };
    return { places, refusal: 'this CPU has no such top-down metric' };
  }
  const fixedNumber = isPlain ? INTEL_FIXED_EVENTS.findIndex(({ codes }) => codes.includes(code)) : -1;
  const fixed = placesOf(counters, ({ kind, number }) => kind === 'fixed' && number === fixedNumber);
  if (eventByte === 0) {
    if (fixed.length > 0) return { places: fixed };
    const refusal = 'an event code of 0 stands for a fixed counter, and this CPU has none for it';
    return { places: [], refusal };
  }
  const places = [...fixed, ...placesOf(counters, ({ kind }) => kind === 'general')];
  if (places.length === 0) return { places, refusal: 'this CPU has no performance counters' };
  const shared = SHARED_REGISTERS.find(
    ([select, mask]) => select === eventByte && (mask === null || mask === umask),
  );
  if (shared === undefined || (event.config1 === 0n && shared[2] !== 'offcore-response')) return { places };
  return { places, shared: { resource: shared[2], value: event.config1, capacity: shared[3] } };
}

function architecturalRows(known: IntelCounters): EventRow[] {
  return INTEL_ARCHITECTURAL_EVENTS.filter(({ bit }) => known.hasEvent(bit)).map((row) => ({
    name: row.name,
    vendorName: row.vendorName,
    terms: eventUmask(row.event, row.umask),
    unit: row.unit,
    description: row.description,
  }));
}

/** Fixed counters whose event no general counter can count: they have a code of their own. */
function fixedRows(known: IntelCounters): EventRow[] {
  return INTEL_FIXED_EVENTS.flatMap((row, number) => {
    if (!known.fixed.includes(number) || row.ownName === null) return [];
    return [
      {
        name: row.ownName,
        terms: eventUmask(0, number + 1),
        unit: row.unit,
        description: row.description,
      },
    ];
  });
}

function metricRow(row: (typeof INTEL_METRIC_EVENTS)[number]): EventRow {
  return {
    name: row.sysfsName,
    terms: eventUmask(0, row.umask),
    unit: 'slots',
    description: row.description,
  };
}

/** Architectural events under their generic names, where CPUID lists them. */
function genericEvents(known: IntelCounters): ReadonlyMap<number, bigint> {
  const rows: (readonly [number, number, number])[] = [
    [0, HW_CYCLES, 0x003c],
    [1, HW_INSTRUCTIONS, 0x00c0],
    [3, HW_CACHE_REFERENCES, 0x4f2e],
    [4, HW_CACHE_MISSES, 0x412e],
    [5, HW_BRANCHES, 0x00c4],
    [6, HW_BRANCH_MISSES, 0x00c5],
    [2, HW_BUS_CYCLES, 0x013c],
  ];
  const present = rows
    .filter(([bit]) => known.hasEvent(bit))
    .map(([, number, code]) => [number, code] as const);
  // ref-cycles is fixed counter 2 alone: the same clock at the same rate as the TSC.
  return genericMap(known.fixed.includes(2) ? [...present, [HW_REF_CYCLES, 0x0300]] : present);
}
