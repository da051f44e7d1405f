import {
  ARM_CORES,
  ARMV8_CACHE,
  ARMV8_EVENTS,
  ARMV8_GENERIC,
  ARMV8_TERMS,
  BR_RETIRED,
  CHAIN,
  CPU_CYCLES,
  PC_WRITE_RETIRED,
} from './armv8-facts.ts';
import { buildModel, generalCounters, placesOf } from './build.ts';
import { cacheMap, genericMap, HW_BRANCHES } from './cache-config.ts';
import type {
  CounterDescription,
  CpuIdentity,
  EventRequirement,
  EventWords,
  PmuFamily,
  PmuModel,
} from './types.ts';

/**
 * PMCR_EL0.N of every core that Arm licenses in its usual configuration; the architecture allows up to 31.
 */
const USUAL_COUNTERS = 6;
/** The cycle counter's number in the registers of overflow and enabling. */
const CYCLE_COUNTER = 31;

/**
 * Armv8 PMUv3: PMCR.N event counters of 32 bits (64 with FEAT_PMUv3p5), and a
 * 64-bit cycle counter beside them.
 *
 *   counters   0   1 | 2   3 | 4   5 | cycles
 *             low high                          `long` on 32-bit counters: the odd one counts the even one's overflows
 */
export const armv8Pmuv3: PmuFamily = {
  name: 'armv8-pmuv3',
  matches: ({ architecture, pmu }) =>
    architecture === 'arm64' || (architecture === 'arm' && pmu.startsWith('armv8')),
  describe,
};

function describe(identity: CpuIdentity): PmuModel {
  const notes: string[] = [];
  const isAbsent = identity.pmuType === null && identity.pmuEvents === null && identity.kernelLog === null;
  const counters = isAbsent ? [] : armCounters(identity, notes);
  if (isAbsent) notes.push('the kernel has no Armv8 PMU here: only software events can be counted');
  const rows = ARMV8_EVENTS.filter(({ name }) => identity.pmuEvents?.has(name) ?? !isAbsent);
  const branches = identity.pmuEvents?.has('br_retired') ? BR_RETIRED : PC_WRITE_RETIRED;
  return buildModel(
    {
      family: 'armv8-pmuv3',
      title: `Armv8 PMUv3${coreName(identity.midr)}`,
      pmu: identity.pmu,
      pmuType: identity.pmuType,
      terms: ARMV8_TERMS,
      counters,
      generic: genericMap([...ARMV8_GENERIC, [HW_BRANCHES, branches]]),
      cache: cacheMap(ARMV8_CACHE),
      watchdog: identity.nmiWatchdog === true && !isAbsent ? BigInt(CPU_CYCLES) : null,
      requirementOf: (event) => requirement(event, counters),
      notes,
    },
    rows,
  );
}

function coreName(midr: number | null): string {
  if (midr === null) return '';
  const implementer = midr >>> 24;
  const part = (midr >>> 4) & 0xfff;
  const name = implementer === 0x41 ? ARM_CORES.get(part) : undefined;
  return name === undefined ? ` (MIDR 0x${(midr >>> 0).toString(16)})` : ` (${name})`;
}

function armCounters({ kernelLog }: CpuIdentity, notes: string[]): CounterDescription[] {
  const count = kernelLog?.general ?? USUAL_COUNTERS;
  if (kernelLog?.general == null) {
    notes.push(
      `the number of event counters (PMCR.N) cannot be read from user space: ${USUAL_COUNTERS} are assumed; the kernel log has it ("hw perfevents: enabled with …")`,
    );
  }
  const width = kernelLog?.widthBits ?? 32;
  if (kernelLog?.widthBits == null) {
    notes.push(
      'event counters are assumed to be 32 bits wide, so a `long` event takes two; newer cores have 64 bits',
    );
  }
  return [
    ...generalCounters(count, width),
    {
      name: 'cycle counter',
      kind: 'fixed',
      number: CYCLE_COUNTER,
      widthBits: 64,
      pageIndex: CYCLE_COUNTER + 1,
    },
  ];
}

/**
 * drivers/perf/arm_pmuv3.c, armv8pmu_get_event_idx: cycles prefer their own counter, which has no threshold.
 */
function requirement(
  { config, config1 }: EventWords,
  counters: readonly CounterDescription[],
): EventRequirement {
  if (counters.length === 0) return { places: [], refusal: 'the kernel has no Armv8 PMU here' };
  const code = Number(config & 0xffffn);
  if (code === CHAIN) {
    return { places: [], refusal: 'CHAIN works only beside another event: use `long=1` instead' };
  }
  const hasThreshold = ((config1 >> 5n) & 0xfffn) !== 0n;
  const cycles =
    code === CPU_CYCLES && !hasThreshold ? placesOf(counters, ({ kind }) => kind === 'fixed') : [];
  const general = placesOf(counters, ({ kind }) => kind === 'general');
  const isLong = (config1 & 1n) === 1n && counters[0]!.kind === 'general' && counters[0]!.widthBits < 64;
  if (!isLong) return { places: [...cycles, ...general] };
  if ((config1 & 2n) !== 0n) {
    // `rdpmc`: user space cannot read the halves of a pair at once, so the kernel gives it none.
    const refusal = 'a `long` event that takes two counters cannot be read from user space (`rdpmc`)';
    return cycles.length > 0 ? { places: cycles } : { places: [], refusal };
  }
  const pairs = Array.from({ length: general.length >> 1 }, (_, pair) => [2 * pair, 2 * pair + 1]);
  return { places: [...cycles, ...pairs] };
}
