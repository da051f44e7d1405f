/** AMD's Processor Programming References, "Performance Monitor Counters": events that all Zen cores know. */
import { type EventRow, eventUmask } from './build.ts';
import {
  CACHE_ACCESS,
  CACHE_BPU,
  CACHE_DTLB,
  CACHE_ITLB,
  CACHE_L1D,
  CACHE_L1I,
  CACHE_MISS,
  CACHE_PREFETCH,
  CACHE_READ,
  HW_BRANCH_MISSES,
  HW_BRANCHES,
  HW_CACHE_MISSES,
  HW_CACHE_REFERENCES,
  HW_CYCLES,
  HW_INSTRUCTIONS,
  HW_REF_CYCLES,
  HW_STALLED_BACKEND,
  HW_STALLED_FRONTEND,
} from './cache-config.ts';
import { K8_ROWS, ZEN_ROWS } from './generated/facts.ts';
import { type TermLayout, term } from './term-layout.ts';

/** The event number has twelve bits: its upper four stand at 35-32. */
export const AMD_TERMS: readonly TermLayout[] = [
  term('event', 'config', 0, 7, 32, 35),
  term('umask', 'config', 8, 15),
  term('edge', 'config', 18, 18),
  term('inv', 'config', 23, 23),
  term('cmask', 'config', 24, 31),
];

function row(
  name: string,
  vendorName: string,
  event: number,
  umask: number,
  unit: string,
  description: string,
): EventRow {
  return { name, vendorName, terms: eventUmask(event, umask), unit, description };
}

export const ZEN_EVENTS: readonly EventRow[] = ZEN_ROWS.map((cells) => row(...cells));

/** What K8 to family 16h share: the events behind the kernel's generic names. */
export const K8_EVENTS: readonly EventRow[] = K8_ROWS.map((cells) => row(...cells));

/** Counted in steps of up to 64 a cycle, so it takes two neighbouring counters (event 0x003 of Zen). */
export const ZEN_FLOPS: EventRow = row(
  'flops-retired',
  'RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS',
  0x03,
  0x0f,
  'operations',
  'Floating-point operations of SSE and AVX instructions: adds, multiplies, divides, and multiply-adds as two, without those of bfloat16.',
);

/** linux arch/x86/events/amd/core.c: the maps of generic events, [PERF_COUNT_HW_…, config]. */
type GenericRows = readonly (readonly [number, number])[];

export const AMD_GENERIC: GenericRows = [
  [HW_CYCLES, 0x0076],
  [HW_INSTRUCTIONS, 0x00c0],
  [HW_CACHE_REFERENCES, 0x077d],
  [HW_CACHE_MISSES, 0x077e],
  [HW_BRANCHES, 0x00c2],
  [HW_BRANCH_MISSES, 0x00c3],
  [HW_STALLED_FRONTEND, 0x00d0],
  [HW_STALLED_BACKEND, 0x00d1],
];

const ZEN_GENERIC: GenericRows = [
  [HW_CYCLES, 0x0076],
  [HW_INSTRUCTIONS, 0x00c0],
  [HW_CACHE_REFERENCES, 0xff60],
  [HW_CACHE_MISSES, 0x0964],
  [HW_BRANCHES, 0x00c2],
  [HW_BRANCH_MISSES, 0x00c3],
];

export const ZEN1_GENERIC: GenericRows = [
  ...ZEN_GENERIC,
  [HW_STALLED_FRONTEND, 0x0287],
  [HW_STALLED_BACKEND, 0x0187],
];
export const ZEN2_GENERIC: GenericRows = [...ZEN_GENERIC, [HW_STALLED_FRONTEND, 0x00a9]];
export const ZEN4_GENERIC: GenericRows = [...ZEN2_GENERIC, [HW_REF_CYCLES, 0x1_0000_0120]];

/** The same file's cache events of family 17h and later. */
export const ZEN_CACHE: readonly (readonly [number, number, number, number])[] = [
  [CACHE_L1D, CACHE_READ, CACHE_ACCESS, 0x0040],
  [CACHE_L1D, CACHE_READ, CACHE_MISS, 0xc860],
  [CACHE_L1D, CACHE_PREFETCH, CACHE_ACCESS, 0xff5a],
  [CACHE_L1I, CACHE_READ, CACHE_ACCESS, 0x0080],
  [CACHE_L1I, CACHE_READ, CACHE_MISS, 0x0081],
  [CACHE_DTLB, CACHE_READ, CACHE_ACCESS, 0xff45],
  [CACHE_DTLB, CACHE_READ, CACHE_MISS, 0xf045],
  [CACHE_ITLB, CACHE_READ, CACHE_ACCESS, 0x0084],
  [CACHE_ITLB, CACHE_READ, CACHE_MISS, 0xff85],
  [CACHE_BPU, CACHE_READ, CACHE_ACCESS, 0x00c2],
  [CACHE_BPU, CACHE_READ, CACHE_MISS, 0x00c3],
];

/**
 * Family 15h: which counters know an event, by the upper half of its low byte (linux
 * arch/x86/events/amd/core.c, from the BKDG). Masks of counters; 0: counted by the northbridge PMU, not here.
 */
export const F15H_BY_UNIT: readonly number[] = [
  0x38, 0x38, 0x3f, 0x3f, 0x3f, 0x3f, 0x07, 0x07, 0x07, 0x07, 0, 0, 0x3f, 0x07, 0, 0,
];

/** Exceptions, by whole event number. */
export const F15H_BY_EVENT: ReadonlyMap<number, number> = new Map([
  [0x003, 0x08],
  [0x00b, 0x08],
  [0x00d, 0x08],
  [0x023, 0x07],
  [0x043, 0x07],
  [0x045, 0x07],
  [0x046, 0x07],
  [0x054, 0x07],
  [0x055, 0x07],
  [0x02d, 0x08],
  [0x02e, 0x09],
  [0x031, 0x07],
  [0x1c0, 0x38],
  [0x08f, 0x01],
  [0x187, 0x01],
  [0x188, 0x01],
  [0x0db, 0x3f],
  [0x0dc, 0x3f],
  [0x0dd, 0x3f],
  [0x0de, 0x3f],
  [0x0df, 0x3f],
  [0x1d6, 0x3f],
  [0x1d8, 0x3f],
]);
