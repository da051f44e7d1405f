import { buildModel, type EventRow, generalCounters, placesOf } from './build.ts';
import {
  genericMap,
  HW_BRANCH_MISSES,
  HW_BRANCHES,
  HW_CACHE_MISSES,
  HW_CACHE_REFERENCES,
  HW_CYCLES,
  HW_INSTRUCTIONS,
} from './cache-config.ts';
import { term } from './term-layout.ts';
import type {
  CounterDescription,
  CpuIdentity,
  EventRequirement,
  EventWords,
  PmuFamily,
  PmuModel,
} from './types.ts';

type Parity = 'even' | 'odd' | 'both';

interface Core {
  readonly pattern: RegExp;
  readonly title: string;
  /** The bit of the raw code that says "odd counters"; 0: every counter knows every event. */
  readonly oddBit: number;
  /** Events that both kinds of counter know. */
  readonly both: readonly number[];
  readonly generic: readonly (readonly [number, number, Parity])[];
}

const CLASSIC: readonly (readonly [number, number, Parity])[] = [
  [HW_CYCLES, 0x00, 'both'],
  [HW_INSTRUCTIONS, 0x01, 'both'],
  [HW_BRANCHES, 0x02, 'even'],
  [HW_BRANCH_MISSES, 0x02, 'odd'],
];

const WIDE: readonly (readonly [number, number, Parity])[] = [
  [HW_CYCLES, 0x00, 'both'],
  [HW_INSTRUCTIONS, 0x01, 'both'],
  [HW_BRANCHES, 0x27, 'even'],
  [HW_BRANCH_MISSES, 0x27, 'odd'],
];

const LOONGSON3: readonly (readonly [number, number, Parity])[] = [
  [HW_CYCLES, 0x00, 'even'],
  [HW_INSTRUCTIONS, 0x00, 'odd'],
  [HW_BRANCHES, 0x01, 'even'],
  [HW_BRANCH_MISSES, 0x01, 'odd'],
];

const I6X00: readonly (readonly [number, number, Parity])[] = [
  [HW_CYCLES, 0x00, 'both'],
  [HW_INSTRUCTIONS, 0x01, 'both'],
  [HW_CACHE_REFERENCES, 0x45, 'both'],
  [HW_CACHE_MISSES, 0x48, 'both'],
  [HW_BRANCHES, 0x15, 'both'],
  [HW_BRANCH_MISSES, 0x16, 'both'],
];

/**
 * linux arch/mips/kernel/perf_event_mipsxx.c: maps of generic events and the reading of raw codes, by core.
 */
const CORES: readonly Core[] = [
  { pattern: /I6[45]00/i, title: 'MIPS I6400/I6500', oddBit: 0, both: [], generic: I6X00 },
  { pattern: /P[56]600/i, title: 'MIPS P5600/P6600', oddBit: 0x100, both: [0, 1], generic: WIDE },
  { pattern: /1074K/i, title: 'MIPS 1074K', oddBit: 0x80, both: [0, 1], generic: CLASSIC },
  { pattern: /74K|proAptiv/i, title: 'MIPS 74K/proAptiv', oddBit: 0x80, both: [0, 1], generic: WIDE },
  { pattern: /Loongson-3/i, title: 'Loongson 3', oddBit: 0x80, both: [], generic: LOONGSON3 },
  {
    pattern: /24K|34K|1004K|interAptiv|M51/i,
    title: 'MIPS 24K/34K/1004K/interAptiv',
    oddBit: 0x80,
    both: [0, 1, 11],
    generic: CLASSIC,
  },
];

const WORDS: ReadonlyMap<number, readonly [name: string, unit: string, description: string]> = new Map([
  [HW_CYCLES, ['core-cycles', 'cycles', 'Clock cycles of the core.']],
  [HW_INSTRUCTIONS, ['instructions-retired', 'instructions', 'Instructions completed.']],
  [HW_BRANCHES, ['branches-retired', 'branches', 'Branches completed.']],
  [HW_BRANCH_MISSES, ['branch-misses-retired', 'branches', 'Branches that had been guessed wrong.']],
  [HW_CACHE_REFERENCES, ['data-cache-accesses', 'events', 'Accesses to the data cache.']],
  [HW_CACHE_MISSES, ['data-cache-misses', 'events', 'Accesses that the data cache could not answer.']],
]);

/**
 * MIPS cores have two or four counters; mostly, events with odd numbers of counter differ from those
 * with even ones: a raw code is the event, with one bit more for "odd". There are no formats in
 * sysfs: codes are given as `rNN`.
 */
export const mips: PmuFamily = {
  name: 'mips',
  matches: ({ architecture, modelName }) =>
    architecture === 'mips' && CORES.some(({ pattern }) => pattern.test(modelName ?? '')),
  describe,
};

function describe(identity: CpuIdentity): PmuModel {
  const core = CORES.find(({ pattern }) => pattern.test(identity.modelName ?? ''))!;
  const count = identity.kernelLog?.general ?? 2;
  const counters = generalCounters(count, identity.kernelLog?.widthBits ?? 32, () => null);
  const code = (event: number, parity: Parity) => event | (parity === 'odd' ? core.oddBit : 0);
  return buildModel(
    {
      family: 'mips',
      title: core.title,
      pmu: identity.pmu,
      pmuType: identity.pmuType,
      terms: [term('config', 'config', 0, 63)],
      counters,
      generic: genericMap(
        core.generic.map(([number, event, parity]) => [number, code(event, parity)] as const),
      ),
      cache: null,
      watchdog: null,
      requirementOf: (event) => requirement(event, core, counters),
      notes:
        identity.kernelLog?.general == null
          ? ['the number of counters is only in the kernel log ("Performance counters: …"): two are assumed']
          : [],
    },
    core.generic.map(([number, event, parity]): EventRow => {
      const [name, unit, description] = WORDS.get(number)!;
      return { name, terms: [['config', BigInt(code(event, parity))]], unit, description };
    }),
  );
}

function requirement(
  { config }: EventWords,
  core: Core,
  counters: readonly CounterDescription[],
): EventRequirement {
  const raw = Number(config & 0xffffn);
  const isAny = core.oddBit === 0 || core.both.includes(raw & ~core.oddBit);
  const parity = (raw & core.oddBit) === 0 ? 0 : 1;
  return { places: placesOf(counters, ({ number }) => isAny || number % 2 === parity) };
}
