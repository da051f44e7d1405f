import { buildModel, type EventRow, placesOf } from './build.ts';
import {
  genericMap,
  HW_BRANCH_MISSES,
  HW_BRANCHES,
  HW_CACHE_MISSES,
  HW_CACHE_REFERENCES,
  HW_CYCLES,
  HW_INSTRUCTIONS,
  HW_STALLED_BACKEND,
  HW_STALLED_FRONTEND,
} from './cache-config.ts';
import { type TermLayout, term } from './term-layout.ts';
import type {
  CounterDescription,
  CpuIdentity,
  EventRequirement,
  EventWords,
  PmuFamily,
  PmuModel,
} from './types.ts';

/** What POWER8, 9 and 10 share of `format/`; `pmc` is 1-based, 0 for any of the first four. */
const COMMON_TERMS: readonly TermLayout[] = [
  term('pmcxsel', 'config', 0, 7),
  term('mark', 'config', 8, 8),
  term('unit', 'config', 12, 15),
  term('pmc', 'config', 16, 19),
  term('sample_mode', 'config', 24, 28),
  term('thresh_sel', 'config', 29, 31),
  term('thresh_stop', 'config', 32, 35),
  term('thresh_start', 'config', 36, 39),
];

const POWER8_TERMS = [
  term('event', 'config', 0, 49),
  term('combine', 'config', 11, 11),
  term('cache_sel', 'config', 20, 23),
  term('thresh_cmp', 'config', 40, 49),
  ...COMMON_TERMS,
];
const POWER9_TERMS = [
  term('event', 'config', 0, 51),
  term('combine', 'config', 10, 11),
  term('cache_sel', 'config', 20, 23),
  term('thresh_cmp', 'config', 40, 49),
  term('sdar_mode', 'config', 50, 51),
  ...COMMON_TERMS,
];
const POWER10_TERMS = [
  term('event', 'config', 0, 59),
  term('combine', 'config', 10, 11),
  term('cache_sel', 'config', 20, 21),
  term('sdar_mode', 'config', 22, 23),
  term('l2l3_sel', 'config', 40, 44),
  term('src_sel', 'config', 45, 46),
  term('invert_bit', 'config', 47, 47),
  term('src_mask', 'config', 48, 53),
  term('src_match', 'config', 54, 59),
  term('radix_scope', 'config', 9, 9),
  term('thresh_cmp', 'config1', 0, 17),
  ...COMMON_TERMS,
];

interface Generation {
  readonly pattern: RegExp;
  readonly title: string;
  readonly terms: readonly TermLayout[];
  /** linux arch/powerpc/perf/power*-pmu.c: [PERF_COUNT_HW_…, code, IBM's name]. */
  readonly generic: readonly (readonly [number, number, string])[];
}

const GENERATIONS: readonly Generation[] = [
  {
    pattern: /POWER8/i,
    title: 'POWER8',
    terms: POWER8_TERMS,
    generic: [
      [HW_CYCLES, 0x0001e, 'PM_CYC'],
      [HW_STALLED_FRONTEND, 0x100f8, 'PM_GCT_NOSLOT_CYC'],
      [HW_STALLED_BACKEND, 0x4000a, 'PM_CMPLU_STALL'],
      [HW_INSTRUCTIONS, 0x00002, 'PM_INST_CMPL'],
      [HW_BRANCHES, 0x10068, 'PM_BRU_FIN'],
      [HW_BRANCH_MISSES, 0x400f6, 'PM_BR_MPRED_CMPL'],
      [HW_CACHE_REFERENCES, 0x100ee, 'PM_LD_REF_L1'],
      [HW_CACHE_MISSES, 0x3e054, 'PM_LD_MISS_L1'],
    ],
  },
  {
    pattern: /POWER9/i,
    title: 'POWER9',
    terms: POWER9_TERMS,
    generic: [
      [HW_CYCLES, 0x0001e, 'PM_CYC'],
      [HW_STALLED_FRONTEND, 0x100f8, 'PM_ICT_NOSLOT_CYC'],
      [HW_STALLED_BACKEND, 0x1e054, 'PM_CMPLU_STALL'],
      [HW_INSTRUCTIONS, 0x00002, 'PM_INST_CMPL'],
      [HW_BRANCHES, 0x4d05e, 'PM_BR_CMPL'],
      [HW_BRANCH_MISSES, 0x400f6, 'PM_BR_MPRED_CMPL'],
      [HW_CACHE_REFERENCES, 0x100fc, 'PM_LD_REF_L1'],
      [HW_CACHE_MISSES, 0x2c04e, 'PM_LD_MISS_L1_FIN'],
    ],
  },
  {
    pattern: /POWER1[01]/i,
    title: 'POWER10',
    terms: POWER10_TERMS,
    generic: [
      [HW_CYCLES, 0x600f4, 'PM_CYC'],
      [HW_INSTRUCTIONS, 0x500fa, 'PM_INST_CMPL'],
      [HW_BRANCHES, 0x2f04a, 'PM_BR_FIN'],
      [HW_BRANCH_MISSES, 0x3e098, 'PM_MPRED_BR_FIN'],
      [HW_CACHE_REFERENCES, 0x100fc, 'PM_LD_REF_L1'],
      [HW_CACHE_MISSES, 0x400f0, 'PM_LD_DEMAND_MISS_L1_FIN'],
    ],
  },
];

const WORDS: ReadonlyMap<number, readonly [unit: string, description: string]> = new Map([
  [HW_CYCLES, ['cycles', 'Clock cycles of the core for this thread.']],
  [HW_INSTRUCTIONS, ['instructions', 'Instructions completed.']],
  [HW_STALLED_FRONTEND, ['cycles', 'Cycles in which nothing was in the pipeline for this thread.']],
  [HW_STALLED_BACKEND, ['cycles', 'Cycles in which something was in the pipeline and nothing completed.']],
  [HW_BRANCHES, ['branches', 'Branches finished or completed.']],
  [HW_BRANCH_MISSES, ['branches', 'Branches that had been guessed wrong.']],
  [HW_CACHE_REFERENCES, ['events', 'Loads that looked into the level-1 data cache.']],
  [HW_CACHE_MISSES, ['events', 'Loads that the level-1 data cache could not answer.']],
]);

/**
 * POWER8 to POWER10: six 32-bit counters. 1 to 4 are programmed; 5 counts
 * instructions, 6 cycles, both always.
 *
 *   code  … | pmc 19-16 | unit 15-12 | combine 11-10 | 9 | mark 8 | pmcxsel 7-0
 */
export const power: PmuFamily = {
  name: 'power',
  matches: ({ architecture, modelName }) =>
    architecture === 'powerpc' && GENERATIONS.some(({ pattern }) => pattern.test(modelName ?? '')),
  describe,
};

function describe(identity: CpuIdentity): PmuModel {
  const generation = GENERATIONS.find(({ pattern }) => pattern.test(identity.modelName ?? ''))!;
  const counters = Array.from(
    { length: 6 },
    (_, index): CounterDescription => ({
      name: `PMC${index + 1}`,
      kind: index < 4 ? 'general' : 'fixed',
      number: index + 1,
      widthBits: 32,
      pageIndex: null,
    }),
  );
  return buildModel(
    {
      family: 'power',
      title: generation.title,
      pmu: identity.pmu,
      pmuType: identity.pmuType,
      terms: generation.terms,
      counters,
      generic: genericMap(generation.generic.map(([number, code]) => [number, code] as const)),
      cache: null,
      watchdog: null,
      requirementOf: (event) => requirement(event, counters),
      notes: [
        'events of one group also have to agree on units, thresholds and sampling; only counters are checked here',
        'PMC5 and PMC6 take instructions and cycles of tasks; while whole CPUs are counted, POWER8 and 9 put them on the others',
      ],
    },
    generation.generic.map(([number, code, vendorName]): EventRow => {
      const [unit, description] = WORDS.get(number)!;
      const name = vendorName.toLowerCase().replaceAll('_', '-');
      return { name, vendorName, terms: [['event', BigInt(code)]], unit, description };
    }),
  );
}

/** Cycles and instructions have two codes each: one for any programmable counter, one for their own. */
const CYCLE_CODES = [0x0001e, 0x600f4];
const INSTRUCTION_CODES = [0x00002, 0x500fa];

/**
 * The code names its counter (arch/powerpc/perf/isa207-common.c). Of cycles and instructions the kernel takes
 * whichever twin is free.
 */
function requirement({ config }: EventWords, counters: readonly CounterDescription[]): EventRequirement {
  const code = Number(config & 0xfffffn);
  const pmc = code >> 16;
  const own = CYCLE_CODES.includes(code) ? 6 : INSTRUCTION_CODES.includes(code) ? 5 : 0;
  const general = placesOf(counters, ({ kind }) => kind === 'general');
  if (own > 0) return { places: [...placesOf(counters, ({ number }) => number === own), ...general] };
  if (pmc === 0) return { places: general };
  if (pmc <= 4) return { places: placesOf(counters, ({ number }) => number === pmc) };
  if (pmc > 6) return { places: [], refusal: `the code names counter ${pmc}, and there are six` };
  return {
    places: [],
    refusal: 'counter 5 counts instructions (0x500fa) and counter 6 cycles (0x600f4) only',
  };
}
