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

export const ZEN_EVENTS: readonly EventRow[] = [
  row(
    'core-cycles',
    'CYCLES_NOT_IN_HALT',
    0x76,
    0,
    'cycles',
    'Clock cycles of the core while it is not halted.',
  ),
  row(
    'instructions-retired',
    'RETIRED_INSTRUCTIONS',
    0xc0,
    0,
    'instructions',
    'Instructions carried out for good, exceptions and interrupts included.',
  ),
  row('ops-retired', 'RETIRED_UOPS', 0xc1, 0, 'operations', 'Macro-operations carried out for good.'),
  row(
    'branches-retired',
    'RETIRED_BRANCH_INSTRUCTIONS',
    0xc2,
    0,
    'branches',
    'Branches of all kinds carried out for good.',
  ),
  row(
    'branch-misses-retired',
    'RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED',
    0xc3,
    0,
    'branches',
    'Branches carried out for good that had been guessed wrong.',
  ),
  row(
    'taken-branches-retired',
    'RETIRED_TAKEN_BRANCH_INSTRUCTIONS',
    0xc4,
    0,
    'branches',
    'Branches carried out for good that were taken.',
  ),
  row(
    'taken-branch-misses-retired',
    'RETIRED_TAKEN_BRANCH_INSTRUCTIONS_MISPREDICTED',
    0xc5,
    0,
    'branches',
    'Taken branches carried out for good that had been guessed wrong.',
  ),
  row(
    'far-transfers-retired',
    'RETIRED_FAR_CONTROL_TRANSFERS',
    0xc6,
    0,
    'events',
    'Far calls, jumps and returns, system calls, exceptions and interrupts.',
  ),
  row(
    'near-returns-retired',
    'RETIRED_NEAR_RETURNS',
    0xc8,
    0,
    'branches',
    'Near returns carried out for good.',
  ),
  row(
    'near-return-misses-retired',
    'RETIRED_NEAR_RETURNS_MISPREDICTED',
    0xc9,
    0,
    'branches',
    'Near returns whose target had been guessed wrong.',
  ),
  row(
    'indirect-branch-misses-retired',
    'RETIRED_INDIRECT_BRANCH_INSTRUCTIONS_MISPREDICTED',
    0xca,
    0,
    'branches',
    'Indirect branches whose target had been guessed wrong.',
  ),
  row(
    'conditional-branches-retired',
    'RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS',
    0xd1,
    0,
    'branches',
    'Conditional branches carried out for good.',
  ),
  row(
    'x87-instructions-retired',
    'RETIRED_MMX_FP_INSTRUCTIONS:X87_INSTR',
    0xcb,
    0x01,
    'instructions',
    'x87 floating-point instructions carried out for good.',
  ),
  row(
    'mmx-instructions-retired',
    'RETIRED_MMX_FP_INSTRUCTIONS:MMX_INSTR',
    0xcb,
    0x02,
    'instructions',
    'MMX instructions carried out for good.',
  ),
  row(
    'sse-instructions-retired',
    'RETIRED_MMX_FP_INSTRUCTIONS:SSE_INSTR',
    0xcb,
    0x04,
    'instructions',
    'SSE and AVX instructions carried out for good.',
  ),
  row(
    'divider-busy-cycles',
    'DIV_CYCLES_BUSY_COUNT',
    0xd3,
    0,
    'cycles',
    'Cycles in which the integer divider worked.',
  ),
  row('divider-operations', 'DIV_OP_COUNT', 0xd4, 0, 'operations', 'Integer divisions that were started.'),
  row(
    'loads-dispatched',
    'LS_DISPATCH:LD_DISPATCH',
    0x29,
    0x01,
    'operations',
    'Loads handed to the load and store unit.',
  ),
  row(
    'stores-dispatched',
    'LS_DISPATCH:STORE_DISPATCH',
    0x29,
    0x02,
    'operations',
    'Stores handed to the load and store unit.',
  ),
  row(
    'load-stores-dispatched',
    'LS_DISPATCH:LD_ST_DISPATCH',
    0x29,
    0x04,
    'operations',
    'Operations that load and store the same place, handed to the load and store unit.',
  ),
  row(
    'store-to-load-forwards',
    'STORE_TO_LOAD_FORWARD',
    0x35,
    0,
    'events',
    'Loads answered by a store that had not reached the cache yet.',
  ),
  row(
    'dtlb-l1-misses-l2-hits',
    'L1_DTLB_MISS:TLB_RELOAD_4K_L2_HIT:TLB_RELOAD_COALESCED_PAGE_HIT:TLB_RELOAD_2M_L2_HIT:TLB_RELOAD_1G_L2_HIT',
    0x45,
    0x0f,
    'events',
    'Data addresses absent from the first translation buffer and found in the second.',
  ),
  row(
    'dtlb-walks',
    'L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_COALESCED_PAGE_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_1G_L2_MISS',
    0x45,
    0xf0,
    'events',
    'Data addresses in neither translation buffer, for which page tables were walked.',
  ),
  row(
    'itlb-l1-misses-l2-hits',
    'L1_ITLB_MISS_L2_ITLB_HIT',
    0x84,
    0,
    'events',
    'Instruction addresses absent from the first translation buffer and found in the second.',
  ),
  row(
    'itlb-walks',
    'L1_ITLB_MISS_L2_ITLB_MISS:IF4K:IF2M:IF1G',
    0x85,
    0x07,
    'events',
    'Instruction addresses in neither translation buffer, for which page tables were walked.',
  ),
  row(
    'icache-fills-from-l2',
    'INSTRUCTION_CACHE_REFILLS_FROM_L2',
    0x82,
    0,
    'cache lines',
    'Lines of instructions fetched from the level-2 cache.',
  ),
  row(
    'icache-fills-from-system',
    'INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM',
    0x83,
    0,
    'cache lines',
    'Lines of instructions fetched from beyond the level-2 cache.',
  ),
  row(
    'l2-btb-corrections',
    'L2_BTB_CORRECTION',
    0x8b,
    0,
    'events',
    'Guesses of the first branch predictor put right by the second.',
  ),
  row(
    'indirect-predictions',
    'DYNAMIC_INDIRECT_PREDICTIONS',
    0x8e,
    0,
    'events',
    'Targets of indirect branches guessed from their history.',
  ),
  row(
    'l2-requests-data-reads',
    'REQUESTS_TO_L2_GROUP1:RD_BLK_L',
    0x60,
    0x80,
    'events',
    'Reads of data that the level-1 cache passed on to level 2.',
  ),
  row(
    'l2-requests-data-for-write',
    'REQUESTS_TO_L2_GROUP1:RD_BLK_X',
    0x60,
    0x40,
    'events',
    'Data that the level-1 cache asked of level 2 in order to write it.',
  ),
  row(
    'l2-requests-instructions',
    'REQUESTS_TO_L2_GROUP1:CACHEABLE_IC_READ',
    0x60,
    0x10,
    'events',
    'Lines that the instruction cache asked of level 2.',
  ),
  row(
    'l2-instruction-misses',
    'CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS',
    0x64,
    0x01,
    'events',
    'Requests of the instruction cache that level 2 could not answer.',
  ),
  row(
    'l2-data-misses',
    'CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C',
    0x64,
    0x08,
    'events',
    'Requests of the data cache that level 2 could not answer.',
  ),
  row(
    'ibs-ops-tagged',
    'TAGGED_IBS_OPS:IBS_TAGGED_OPS',
    0x1cf,
    0x01,
    'operations',
    'Operations chosen as samples by instruction-based sampling.',
  ),
];

/** What K8 to family 16h share: the events behind the kernel's generic names. */
export const K8_EVENTS: readonly EventRow[] = [
  row(
    'core-cycles',
    'CPU_CLK_UNHALTED',
    0x76,
    0,
    'cycles',
    'Clock cycles of the core while it is not halted.',
  ),
  row(
    'instructions-retired',
    'RETIRED_INSTRUCTIONS',
    0xc0,
    0,
    'instructions',
    'Instructions carried out for good, exceptions and interrupts included.',
  ),
  row(
    'l2-requests',
    'REQUESTS_TO_L2',
    0x7d,
    0x07,
    'events',
    'Requests for instructions, data and translations that reached the level-2 cache.',
  ),
  row(
    'l2-misses',
    'L2_CACHE_MISS',
    0x7e,
    0x07,
    'events',
    'Such requests that the level-2 cache could not answer.',
  ),
  row(
    'branches-retired',
    'RETIRED_BRANCH_INSTRUCTIONS',
    0xc2,
    0,
    'branches',
    'Branches of all kinds carried out for good.',
  ),
  row(
    'branch-misses-retired',
    'RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS',
    0xc3,
    0,
    'branches',
    'Branches carried out for good that had been guessed wrong.',
  ),
  row(
    'decoder-empty-cycles',
    'DECODER_EMPTY',
    0xd0,
    0,
    'cycles',
    'Cycles in which the decoder had nothing to decode.',
  ),
  row(
    'dispatch-stall-cycles',
    'DISPATCH_STALLS',
    0xd1,
    0,
    'cycles',
    'Cycles in which the decoder had operations that could not be handed on.',
  ),
];

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
 * Family 15h: which counters know an event, by the upper half of its low byte (linux arch/x86/events/amd/core.c, from
 * the BKDG). Masks of counters; 0: counted by the northbridge PMU, not here.
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
