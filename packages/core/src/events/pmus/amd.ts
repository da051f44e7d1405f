import {
  AMD_GENERIC,
  AMD_TERMS,
  F15H_BY_EVENT,
  F15H_BY_UNIT,
  K8_EVENTS,
  ZEN_CACHE,
  ZEN_EVENTS,
  ZEN_FLOPS,
  ZEN1_GENERIC,
  ZEN2_GENERIC,
  ZEN4_GENERIC,
} from './amd-facts.ts';
import { buildModel, type EventRow, generalCounters, placesOf } from './build.ts';
import { cacheMap, genericMap } from './cache-config.ts';
import {
  type CounterDescription,
  type CpuIdentity,
  cpuidKey,
  type EventRequirement,
  type EventWords,
  type PmuFamily,
  type PmuModel,
} from './types.ts';

const VENDORS = new Set(['AuthenticAMD', 'HygonGenuine']);

/**
 * AMD's core counters, K8 to Zen. The older families are described as far as the kernel's generic events go.
 */
export const amdCore: PmuFamily = {
  name: 'amd-core',
  matches: ({ architecture, vendor, family }) =>
    architecture === 'x86' && vendor !== null && VENDORS.has(vendor) && (family ?? 0) >= 0x0f,
  describe,
};

function describe(identity: CpuIdentity): PmuModel {
  const family = identity.family ?? 0;
  const isZen = family >= 0x17;
  const { count, notes, version } = countCounters(identity);
  const counters = generalCounters(count, 48);
  const requirementOf = (event: EventWords): EventRequirement =>
    count === 0
      ? { places: [], refusal: 'this CPU shows no performance counters' }
      : requirement(event, family, counters);
  return buildModel(
    {
      family: 'amd-core',
      title: `AMD core counters, family ${family.toString(16)}h${version === 2 ? ', PerfMonV2' : ''}`,
      pmu: identity.pmu,
      pmuType: identity.pmuType,
      terms: AMD_TERMS,
      counters,
      generic: genericMap(genericRows(identity)),
      cache: isZen ? cacheMap(ZEN_CACHE) : null,
      watchdog: identity.nmiWatchdog === true && count > 0 ? 0x0076n : null,
      requirementOf,
      notes,
    },
    count > 0 ? eventRows(identity) : [],
  );
}

function eventRows(identity: CpuIdentity): readonly EventRow[] {
  if ((identity.family ?? 0) < 0x17) return K8_EVENTS;
  // Zen 1 numbers the kinds of floating-point operations otherwise.
  return isZen1(identity) ? ZEN_EVENTS : [...ZEN_EVENTS, ZEN_FLOPS];
}

/**
 * How many: CPUID 0x80000022 says (PerfMonV2: EBX bits 3-0, EAX bit 0); before that six with the core
 * extension (CPUID 0x80000001 ECX bit 23, `perfctr_core` in /proc/cpuinfo), four without.
 */
function countCounters(identity: CpuIdentity): { count: number; version: number; notes: string[] } {
  const leaf = identity.cpuid.get(cpuidKey(0x8000_0022));
  const isV2 = leaf !== undefined && (leaf.eax & 1) === 1;
  if (isV2) return { count: leaf.ebx & 0xf, version: 2, notes: [] };
  const version = identity.flags.has('perfmon_v2') ? 2 : 1;
  if (identity.pmuType === null && identity.flags.has('hypervisor')) {
    return {
      count: 0,
      version,
      notes: ['this virtual machine has no PMU: only software events can be counted'],
    };
  }
  if (!identity.flags.has('perfctr_core')) return { count: 4, version, notes: [] };
  const count = identity.kernelLog?.general ?? 6;
  const notes =
    version === 2 && identity.kernelLog?.general == null
      ? ['CPUID leaf 0x80000022 could not be read: six counters are assumed']
      : [];
  return { count, version, notes };
}

/** Zen 1 and Zen+ are the models of family 17h below 30h, and Hygon's family 18h. */
function isZen1({ family, model }: CpuIdentity): boolean {
  return family === 0x18 || (family === 0x17 && (model ?? 0) < 0x30);
}

/** Zen 4 among family 19h: models 10h-1Fh, 60h-AFh (linux arch/x86/kernel/cpu/amd.c). */
function isZen4({ family, model }: CpuIdentity): boolean {
  const number = model ?? 0;
  return family === 0x19 && ((number >= 0x10 && number <= 0x1f) || (number >= 0x60 && number <= 0xaf));
}

function genericRows(identity: CpuIdentity): readonly (readonly [number, number])[] {
  const family = identity.family ?? 0;
  if (family < 0x17) return AMD_GENERIC;
  if (isZen1(identity)) return ZEN1_GENERIC;
  return family >= 0x1a || isZen4(identity) ? ZEN4_GENERIC : ZEN2_GENERIC;
}

function requirement(
  { config }: EventWords,
  family: number,
  counters: readonly CounterDescription[],
): EventRequirement {
  const event = Number((config & 0xffn) | ((config >> 24n) & 0xf00n));
  if (family === 0x15) return requirement15h(event, Number((config >> 8n) & 0xffn), counters);
  // More than 15 counts a cycle: the odd neighbour carries the upper part.
  if (family >= 0x17 && event === 0x003) return { places: pairs(counters) };
  return { places: placesOf(counters, () => true) };
}

function pairs(counters: readonly CounterDescription[]): number[][] {
  return Array.from({ length: counters.length >> 1 }, (_, pair) => [2 * pair, 2 * pair + 1]);
}

function requirement15h(
  event: number,
  umask: number,
  counters: readonly CounterDescription[],
): EventRequirement {
  let mask = F15H_BY_EVENT.get(event) ?? F15H_BY_UNIT[(event >> 4) & 0xf]!;
  const unitBits = [...umask.toString(2)].filter((bit) => bit === '1').length;
  if (event === 0x000 && (umask & 0xf0) !== 0 && (umask & 0x0f) !== 0) mask = 0x08;
  if (event === 0x004 && unitBits > 1) mask = 0x08;
  if (event === 0x031 && unitBits > 1) {
    return { places: [], refusal: 'event 0x031 takes one unit mask bit at a time' };
  }
  if (mask === 0) {
    return { places: [], refusal: 'a northbridge event: the PMU amd_nb counts it, not the core' };
  }
  return { places: placesOf(counters, ({ number }) => ((mask >> number) & 1) === 1) };
}
