import { type CpuIdentity, cpuidKey } from './types.ts';

/** What an Intel core says of its counters. */
export interface IntelCounters {
  readonly version: number | null;
  /** Numbers of the counters that exist; newer cores may leave gaps. */
  readonly general: readonly number[];
  readonly fixed: readonly number[];
  readonly generalWidthBits: number;
  readonly fixedWidthBits: number;
  /** Whether the architectural event of this number is there. */
  hasEvent(bit: number): boolean;
  readonly notes: readonly string[];
}

/**
 * CPUID leaf 0xA (SDM vol. 2A, CPUID, "Architectural Performance Monitoring Leaf"):
 *
 *   EAX  31 events listed in EBX 24 | 23 width 16 | 15 general counters 8 | 7 version 0
 *   EBX  bit n set: architectural event n is absent
 *   ECX  version 5: bit n set: fixed counter n is there
 *   EDX  15 any-thread gone | 12 width 5 | 4 fixed counters from 0 on 0   (version 2)
 *
 * Leaf 0x23 (version 6): EAX of subleaf 0 says which subleaves there are; subleaf 1 has EAX and EBX as maps
 * of general and fixed counters; subleaf 3 has EAX as a map of events, where a set bit means present.
 */
export function readIntelCounters(identity: CpuIdentity): IntelCounters {
  const leaf = identity.cpuid.get(cpuidKey(0xa));
  if (leaf === undefined) return assumedCounters(identity);
  const version = leaf.eax & 0xff;
  const notes: string[] = [];
  if (version === 0) {
    const where = identity.flags.has('hypervisor')
      ? 'this virtual machine has no PMU'
      : 'CPUID reports no PMU';
    return { ...NONE, version, notes: [`${where}: only software events can be counted`] };
  }
  let general = bitsOf(lowMask((leaf.eax >>> 8) & 0xff));
  const fixedCount = version >= 2 ? leaf.edx & 0x1f : 0;
  let fixed = bitsOf(lowMask(fixedCount) | (version >= 5 ? leaf.ecx : 0));
  const extended = identity.cpuid.get(cpuidKey(0x23));
  const subleaves = extended?.eax ?? 0;
  const maps = (subleaves & 2) === 0 ? undefined : identity.cpuid.get(cpuidKey(0x23, 1));
  if (maps !== undefined) {
    general = bitsOf(maps.eax);
    fixed = bitsOf(maps.ebx);
  }
  const eventMap = (subleaves & 8) === 0 ? undefined : identity.cpuid.get(cpuidKey(0x23, 3))?.eax;
  const listed = leaf.eax >>> 24;
  return {
    version,
    general,
    fixed,
    generalWidthBits: (leaf.eax >>> 16) & 0xff,
    fixedWidthBits: version >= 2 ? (leaf.edx >>> 5) & 0xff : 0,
    hasEvent: (bit) =>
      eventMap === undefined
        ? bit < listed && ((leaf.ebx >>> bit) & 1) === 0
        : bit < 32 && ((eventMap >>> bit) & 1) === 1,
    notes,
  };
}

const NONE: Omit<IntelCounters, 'version' | 'notes'> = {
  general: [],
  fixed: [],
  generalWidthBits: 0,
  fixedWidthBits: 0,
  hasEvent: () => false,
};

/**
 * CPUID not readable: the kernel's log, or what sysfs lets one conclude. `slots` is only there with fixed
 * counter 3, and every core that has that one has eight general counters (Ice Lake and later).
 */
function assumedCounters(identity: CpuIdentity): IntelCounters {
  const log = identity.kernelLog;
  const hasSlots = identity.pmuEvents?.has('slots') ?? false;
  const isAbsent = identity.pmuType === null && identity.pmuEvents === null;
  if (isAbsent && log === null) {
    return {
      ...NONE,
      version: null,
      notes: [`the kernel has no PMU "${identity.pmu}": only software events can be counted`],
    };
  }
  const general = log?.general ?? (hasSlots ? 8 : 4);
  const fixed = log?.fixed ?? (hasSlots ? 4 : 3);
  const source = log?.general == null ? 'assumed' : 'taken from the kernel log';
  return {
    version: null,
    general: bitsOf(lowMask(general)),
    fixed: bitsOf(lowMask(fixed)),
    generalWidthBits: log?.widthBits ?? 48,
    fixedWidthBits: log?.widthBits ?? 48,
    hasEvent: (bit) => bit < 7,
    notes: [
      `CPUID leaf 0xA could not be read: ${general} general and ${fixed} fixed counters are ${source}; \`modprobe cpuid\` and reading as root give the exact numbers`,
    ],
  };
}

function lowMask(count: number): number {
  return count >= 32 ? 0xffff_ffff : (2 ** count - 1) | 0;
}

function bitsOf(mask: number): number[] {
  return Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => ((mask >>> bit) & 1) === 1);
}
