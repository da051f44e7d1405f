/**
 * Arm ARM (DDI 0487), "PMU events and event numbers": the architectural and the common microarchitectural
 * events. Names are the manual's; sysfs has them in lower case.
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
import { ARMV8_ROWS } from './generated/facts.ts';
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

export const ARMV8_EVENTS: readonly EventRow[] = ARMV8_ROWS.map((cells) => row(...cells));

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
