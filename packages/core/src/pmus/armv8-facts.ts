/**
 * Arm ARM (DDI 0487), "PMU events and event numbers": the architectural and the common microarchitectural events.
 * Names are the manual's; sysfs has them in lower case.
 */
import type { EventRow } from './build.ts';
import {
  CACHE_ACCESS,
  CACHE_BPU,
  CACHE_DTLB,
  CACHE_ITLB,
  CACHE_L1D,
  CACHE_L1I,
  CACHE_LL,
  CACHE_MISS,
  CACHE_READ,
  HW_BRANCH_MISSES,
  HW_BUS_CYCLES,
  HW_CACHE_MISSES,
  HW_CACHE_REFERENCES,
  HW_CYCLES,
  HW_INSTRUCTIONS,
  HW_STALLED_BACKEND,
  HW_STALLED_FRONTEND,
} from './cache-config.ts';
import { type TermLayout, term } from './term-layout.ts';

/** drivers/perf/arm_pmuv3.c; the threshold terms from Linux 6.8 on, with FEAT_PMUv3_TH. */
export const ARMV8_TERMS: readonly TermLayout[] = [
  term('event', 'config', 0, 15),
  term('long', 'config1', 0, 0),
  term('rdpmc', 'config1', 1, 1),
  term('threshold_count', 'config1', 2, 2),
  term('threshold_compare', 'config1', 3, 4),
  term('threshold', 'config1', 5, 16),
];

export const CPU_CYCLES = 0x11;
export const CHAIN = 0x1e;
export const BR_RETIRED = 0x21;
export const PC_WRITE_RETIRED = 0x0c;

function row(code: number, vendorName: string, unit: string, description: string): EventRow {
  return { name: vendorName.toLowerCase(), vendorName, terms: [['event', BigInt(code)]], unit, description };
}

export const ARMV8_EVENTS: readonly EventRow[] = [
  row(0x00, 'SW_INCR', 'events', 'Writes by software to the increment register of the PMU.'),
  row(
    0x01,
    'L1I_CACHE_REFILL',
    'cache lines',
    'Lines brought into the level-1 instruction cache because a fetch missed.',
  ),
  row(0x02, 'L1I_TLB_REFILL', 'events', 'Entries brought into the level-1 instruction TLB.'),
  row(
    0x03,
    'L1D_CACHE_REFILL',
    'cache lines',
    'Lines brought into the level-1 data cache because an access missed.',
  ),
  row(0x04, 'L1D_CACHE', 'events', 'Accesses to the level-1 data cache.'),
  row(0x05, 'L1D_TLB_REFILL', 'events', 'Entries brought into the level-1 data TLB.'),
  row(0x06, 'LD_RETIRED', 'instructions', 'Loads carried out for good, their condition met.'),
  row(0x07, 'ST_RETIRED', 'instructions', 'Stores carried out for good, their condition met.'),
  row(0x08, 'INST_RETIRED', 'instructions', 'Instructions carried out for good.'),
  row(0x09, 'EXC_TAKEN', 'events', 'Exceptions taken, interrupts included.'),
  row(0x0a, 'EXC_RETURN', 'instructions', 'Returns from an exception, carried out for good.'),
  row(0x0b, 'CID_WRITE_RETIRED', 'instructions', 'Writes to the context identifier register.'),
  row(
    0x0c,
    'PC_WRITE_RETIRED',
    'branches',
    'Changes of the program counter by software: taken branches of all kinds.',
  ),
  row(
    0x0d,
    'BR_IMMED_RETIRED',
    'branches',
    'Branches to an address in the instruction, carried out for good.',
  ),
  row(0x0e, 'BR_RETURN_RETIRED', 'branches', 'Returns from procedures, carried out for good.'),
  row(
    0x0f,
    'UNALIGNED_LDST_RETIRED',
    'instructions',
    'Loads and stores of unaligned addresses, carried out for good.',
  ),
  row(
    0x10,
    'BR_MIS_PRED',
    'branches',
    'Branches guessed wrong, or not guessed, also on a path that was thrown away.',
  ),
  row(0x11, 'CPU_CYCLES', 'cycles', 'Clock cycles of the core; it has a counter of its own.'),
  row(0x12, 'BR_PRED', 'branches', 'Branches that could be guessed, also on a path that was thrown away.'),
  row(0x13, 'MEM_ACCESS', 'events', 'Accesses of loads and stores to memory, to the caches or beyond.'),
  row(0x14, 'L1I_CACHE', 'events', 'Accesses to the level-1 instruction cache.'),
  row(0x15, 'L1D_CACHE_WB', 'cache lines', 'Changed lines written back from the level-1 data cache.'),
  row(0x16, 'L2D_CACHE', 'events', 'Accesses to the level-2 data or unified cache.'),
  row(0x17, 'L2D_CACHE_REFILL', 'cache lines', 'Lines brought into the level-2 data or unified cache.'),
  row(
    0x18,
    'L2D_CACHE_WB',
    'cache lines',
    'Changed lines written back from the level-2 data or unified cache.',
  ),
  row(0x19, 'BUS_ACCESS', 'events', 'Transfers over the bus of the core.'),
  row(0x1a, 'MEMORY_ERROR', 'events', 'Errors of local memory that were found.'),
  row(0x1b, 'INST_SPEC', 'operations', 'Operations carried out, also on a path that was thrown away.'),
  row(
    0x1c,
    'TTBR_WRITE_RETIRED',
    'instructions',
    'Writes to the register of the translation table: mostly changes of process.',
  ),
  row(0x1d, 'BUS_CYCLES', 'cycles', 'Cycles of the bus of the core.'),
  row(0x1e, 'CHAIN', 'events', 'Overflows of the even counter below: the upper half of a 64-bit pair.'),
  row(
    0x1f,
    'L1D_CACHE_ALLOCATE',
    'cache lines',
    'Lines of the level-1 data cache taken without being read from below.',
  ),
  row(
    0x20,
    'L2D_CACHE_ALLOCATE',
    'cache lines',
    'Lines of the level-2 cache taken without being read from below.',
  ),
  row(0x21, 'BR_RETIRED', 'branches', 'Branches carried out for good, taken or not.'),
  row(0x22, 'BR_MIS_PRED_RETIRED', 'branches', 'Branches carried out for good that had been guessed wrong.'),
  row(
    0x23,
    'STALL_FRONTEND',
    'cycles',
    'Cycles without an operation to issue because fetching did not keep up.',
  ),
  row(
    0x24,
    'STALL_BACKEND',
    'cycles',
    'Cycles without an operation issued because later stages could take none.',
  ),
  row(0x25, 'L1D_TLB', 'events', 'Lookups in the level-1 data TLB.'),
  row(0x26, 'L1I_TLB', 'events', 'Lookups in the level-1 instruction TLB.'),
  row(0x27, 'L2I_CACHE', 'events', 'Accesses to the level-2 instruction cache.'),
  row(0x28, 'L2I_CACHE_REFILL', 'cache lines', 'Lines brought into the level-2 instruction cache.'),
  row(
    0x29,
    'L3D_CACHE_ALLOCATE',
    'cache lines',
    'Lines of the level-3 cache taken without being read from below.',
  ),
  row(0x2a, 'L3D_CACHE_REFILL', 'cache lines', 'Lines brought into the level-3 data or unified cache.'),
  row(0x2b, 'L3D_CACHE', 'events', 'Accesses to the level-3 data or unified cache.'),
  row(
    0x2c,
    'L3D_CACHE_WB',
    'cache lines',
    'Changed lines written back from the level-3 data or unified cache.',
  ),
  row(0x2d, 'L2D_TLB_REFILL', 'events', 'Entries brought into the level-2 data or unified TLB.'),
  row(0x2e, 'L2I_TLB_REFILL', 'events', 'Entries brought into the level-2 instruction TLB.'),
  row(0x2f, 'L2D_TLB', 'events', 'Lookups in the level-2 data or unified TLB.'),
  row(0x30, 'L2I_TLB', 'events', 'Lookups in the level-2 instruction TLB.'),
  row(0x31, 'REMOTE_ACCESS', 'events', 'Accesses answered by another socket.'),
  row(0x32, 'LL_CACHE', 'events', 'Accesses to the last-level cache.'),
  row(0x33, 'LL_CACHE_MISS', 'events', 'Accesses that the last-level cache could not answer.'),
  row(0x34, 'DTLB_WALK', 'events', 'Walks of page tables for data.'),
  row(0x35, 'ITLB_WALK', 'events', 'Walks of page tables for instructions.'),
  row(0x36, 'LL_CACHE_RD', 'events', 'Reads of the last-level cache.'),
  row(0x37, 'LL_CACHE_MISS_RD', 'events', 'Reads that the last-level cache could not answer.'),
  row(0x38, 'REMOTE_ACCESS_RD', 'events', 'Reads answered by another socket.'),
  row(0x39, 'L1D_CACHE_LMISS_RD', 'events', 'Reads of the level-1 data cache that had to wait for a line.'),
  row(0x3a, 'OP_RETIRED', 'operations', 'Micro-operations carried out for good.'),
  row(0x3b, 'OP_SPEC', 'operations', 'Micro-operations carried out, also on a path that was thrown away.'),
  row(0x3c, 'STALL', 'cycles', 'Cycles without an operation issued, whatever the reason.'),
  row(
    0x3d,
    'STALL_SLOT_BACKEND',
    'slots',
    'Places for operations left empty because later stages could take none.',
  ),
  row(
    0x3e,
    'STALL_SLOT_FRONTEND',
    'slots',
    'Places for operations left empty because fetching did not keep up.',
  ),
  row(0x3f, 'STALL_SLOT', 'slots', 'Places for operations left empty, whatever the reason.'),
  row(0x4000, 'SAMPLE_POP', 'operations', 'Operations from which statistical profiling could choose.'),
  row(0x4001, 'SAMPLE_FEED', 'operations', 'Samples that statistical profiling took.'),
  row(0x4002, 'SAMPLE_FILTRATE', 'operations', 'Samples that passed the filters of statistical profiling.'),
  row(0x4003, 'SAMPLE_COLLISION', 'events', 'Samples lost because the one before was not finished.'),
  row(0x4004, 'CNT_CYCLES', 'cycles', 'Ticks of the generic timer, at its constant rate.'),
  row(0x4005, 'STALL_BACKEND_MEM', 'cycles', 'Cycles without an operation issued because of memory.'),
  row(
    0x4006,
    'L1I_CACHE_LMISS',
    'events',
    'Fetches from the level-1 instruction cache that had to wait for a line.',
  ),
  row(0x4009, 'L2D_CACHE_LMISS_RD', 'events', 'Reads of the level-2 data cache that had to wait for a line.'),
  row(
    0x400a,
    'L2I_CACHE_LMISS',
    'events',
    'Fetches from the level-2 instruction cache that had to wait for a line.',
  ),
  row(0x400b, 'L3D_CACHE_LMISS_RD', 'events', 'Reads of the level-3 data cache that had to wait for a line.'),
  row(0x400c, 'TRB_WRAP', 'events', 'Times that the trace buffer started again at its beginning.'),
  row(0x400d, 'PMU_OVFS', 'events', 'Overflows of counters that belong to the operating system.'),
  row(0x400e, 'TRB_TRIG', 'events', 'Trigger events of the trace buffer.'),
  row(0x400f, 'PMU_HOVFS', 'events', 'Overflows of counters that belong to the hypervisor.'),
  ...[0, 1, 2, 3].map((number) =>
    row(
      0x4010 + number,
      `TRCEXTOUT${number}`,
      'events',
      `Events on external output ${number} of the trace unit.`,
    ),
  ),
  ...[4, 5, 6, 7].map((number) =>
    row(
      0x4014 + number,
      `CTI_TRIGOUT${number}`,
      'events',
      `Events on output ${number} of the cross-trigger interface.`,
    ),
  ),
  row(0x4020, 'LDST_ALIGN_LAT', 'events', 'Loads and stores that took longer because they were not aligned.'),
  row(0x4021, 'LD_ALIGN_LAT', 'events', 'Loads that took longer because they were not aligned.'),
  row(0x4022, 'ST_ALIGN_LAT', 'events', 'Stores that took longer because they were not aligned.'),
  row(0x4024, 'MEM_ACCESS_CHECKED', 'events', 'Accesses to memory whose tag was checked.'),
  row(0x4025, 'MEM_ACCESS_CHECKED_RD', 'events', 'Reads of memory whose tag was checked.'),
  row(0x4026, 'MEM_ACCESS_CHECKED_WR', 'events', 'Writes to memory whose tag was checked.'),
];

/** drivers/perf/arm_pmuv3.c; `branches` is chosen by what the core has, see `armv8.ts`. */
export const ARMV8_GENERIC: readonly (readonly [number, number])[] = [
  [HW_CYCLES, 0x11],
  [HW_INSTRUCTIONS, 0x08],
  [HW_CACHE_REFERENCES, 0x04],
  [HW_CACHE_MISSES, 0x03],
  [HW_BRANCH_MISSES, 0x10],
  [HW_BUS_CYCLES, 0x1d],
  [HW_STALLED_FRONTEND, 0x23],
  [HW_STALLED_BACKEND, 0x24],
];

export const ARMV8_CACHE: readonly (readonly [number, number, number, number])[] = [
  [CACHE_L1D, CACHE_READ, CACHE_ACCESS, 0x04],
  [CACHE_L1D, CACHE_READ, CACHE_MISS, 0x03],
  [CACHE_L1I, CACHE_READ, CACHE_ACCESS, 0x14],
  [CACHE_L1I, CACHE_READ, CACHE_MISS, 0x01],
  [CACHE_LL, CACHE_READ, CACHE_ACCESS, 0x36],
  [CACHE_LL, CACHE_READ, CACHE_MISS, 0x37],
  [CACHE_DTLB, CACHE_READ, CACHE_ACCESS, 0x25],
  [CACHE_DTLB, CACHE_READ, CACHE_MISS, 0x05],
  [CACHE_ITLB, CACHE_READ, CACHE_ACCESS, 0x26],
  [CACHE_ITLB, CACHE_READ, CACHE_MISS, 0x02],
  [CACHE_BPU, CACHE_READ, CACHE_ACCESS, 0x12],
  [CACHE_BPU, CACHE_READ, CACHE_MISS, 0x10],
];

/** MIDR part numbers of implementer 0x41 (Arm), from the cores' reference manuals. */
export const ARM_CORES: ReadonlyMap<number, string> = new Map([
  [0xd03, 'Cortex-A53'],
  [0xd04, 'Cortex-A35'],
  [0xd05, 'Cortex-A55'],
  [0xd07, 'Cortex-A57'],
  [0xd08, 'Cortex-A72'],
  [0xd09, 'Cortex-A73'],
  [0xd0a, 'Cortex-A75'],
  [0xd0b, 'Cortex-A76'],
  [0xd0c, 'Neoverse N1'],
  [0xd0d, 'Cortex-A77'],
  [0xd40, 'Neoverse V1'],
  [0xd41, 'Cortex-A78'],
  [0xd44, 'Cortex-X1'],
  [0xd46, 'Cortex-A510'],
  [0xd47, 'Cortex-A710'],
  [0xd48, 'Cortex-X2'],
  [0xd49, 'Neoverse N2'],
  [0xd4f, 'Neoverse V2'],
  [0xd84, 'Neoverse V3'],
  [0xd8e, 'Neoverse N3'],
]);
