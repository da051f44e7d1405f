/** Invented machines for tests. */
import { type CpuIdentity, type CpuidRegisters, cpuidKey } from '../events/pmus/types.ts';

type Given = Partial<Omit<CpuIdentity, 'flags' | 'pmuEvents'>> & {
  flags?: readonly string[];
  pmuEvents?: readonly string[] | null;
};

export function identity({ flags = [], pmuEvents = null, ...given }: Given): CpuIdentity {
  return {
    architecture: 'other',
    vendor: null,
    family: null,
    model: null,
    stepping: null,
    modelName: null,
    cpuid: new Map(),
    midr: null,
    pmu: 'cpu',
    pmuType: 4,
    capabilities: new Map(),
    kernelLog: null,
    nmiWatchdog: false,
    ...given,
    flags: new Set(flags),
    pmuEvents: pmuEvents === null ? null : new Set(pmuEvents),
  };
}

/** An Intel core by what its leaf 0xA (and 0x23) says. */
export function intelIdentity(core: {
  version: number;
  general: number;
  fixed: number;
  absent?: number;
  events?: readonly string[];
  flags?: readonly string[];
  maps?: { general: number; fixed: number; events: number };
  nmiWatchdog?: boolean;
}): CpuIdentity {
  const cpuid = new Map<string, CpuidRegisters>();
  const eax = core.version | (core.general << 8) | (48 << 16) | (7 << 24);
  cpuid.set(cpuidKey(0xa), { eax, ebx: core.absent ?? 0, ecx: 0, edx: core.fixed | (48 << 5) });
  if (core.maps !== undefined) {
    cpuid.set(cpuidKey(0x23), { eax: 0b1011, ebx: 0, ecx: 0, edx: 0 });
    cpuid.set(cpuidKey(0x23, 1), { eax: core.maps.general, ebx: core.maps.fixed, ecx: 0, edx: 0 });
    cpuid.set(cpuidKey(0x23, 3), { eax: core.maps.events, ebx: 0, ecx: 0, edx: 0 });
  }
  return identity({
    architecture: 'x86',
    vendor: 'GenuineIntel',
    family: 6,
    model: 0x55,
    stepping: 7,
    cpuid,
    pmuEvents: core.events ?? [],
    flags: core.flags ?? [],
    nmiWatchdog: core.nmiWatchdog ?? false,
  });
}

export const zen1Identity = identity({
  architecture: 'x86',
  vendor: 'AuthenticAMD',
  family: 0x17,
  model: 0x01,
  flags: ['perfctr_core'],
});

export const zen4Identity = identity({
  architecture: 'x86',
  vendor: 'AuthenticAMD',
  family: 0x19,
  model: 0x61,
  flags: ['perfctr_core', 'perfmon_v2'],
  cpuid: new Map([[cpuidKey(0x8000_0022), { eax: 0b11, ebx: 6, ecx: 0, edx: 0 }]]),
});

export const a57Identity = identity({
  architecture: 'arm64',
  pmu: 'armv8_pmuv3_0',
  pmuType: 8,
  midr: 0x411f_d070,
  kernelLog: { general: 6, fixed: 1, widthBits: null, firmware: null },
});

export const riscvIdentity = identity({
  architecture: 'riscv',
  kernelLog: { general: 8, fixed: null, widthBits: 64, firmware: 16 },
});

export const power9Identity = identity({ architecture: 'powerpc', modelName: 'POWER9, altivec supported' });
