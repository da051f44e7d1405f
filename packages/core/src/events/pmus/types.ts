/**
 * What is known of a machine's CPUs (plain data that a host collects), and what a
 * family says of their counters.
 */

export interface CpuidRegisters {
  /** Each of the four is unsigned, 32 bits. */
  readonly eax: number;
  /** Unsigned, 32 bits. */
  readonly ebx: number;
  /** Unsigned, 32 bits. */
  readonly ecx: number;
  /** Unsigned, 32 bits. */
  readonly edx: number;
}

/** What the kernel's log said of the PMU when it started, where that could be read. */
export interface KernelCounterReport {
  /** Number of counters for any event; `null`: not said. */
  readonly general: number | null;
  /** Number of counters for one event each; `null`: not said. */
  readonly fixed: number | null;
  /** Bits of a counter; `null`: not said. */
  readonly widthBits: number | null;
  /** Number of counters that the firmware keeps (RISC-V SBI); `null`: not said. */
  readonly firmware: number | null;
}

/** One kind of core. A hybrid machine has several, each with a PMU of its own. */
export interface CpuIdentity {
  /** Decides which families come into question. */
  readonly architecture: 'x86' | 'arm64' | 'arm' | 'riscv' | 'powerpc' | 'mips' | 'other';
  /** x86: the string of CPUID leaf 0 (`GenuineIntel`); elsewhere `null`. */
  readonly vendor: string | null;
  /** x86: with the extended family added, as /proc/cpuinfo has it; elsewhere `null`. */
  readonly family: number | null;
  /** x86: with the extended model; elsewhere `null`. */
  readonly model: number | null;
  /** x86; elsewhere `null`. */
  readonly stepping: number | null;
  /** What /proc/cpuinfo calls it: `model name`, `cpu`, `cpu model`. */
  readonly modelName: string | null;
  /** The feature flags of /proc/cpuinfo. */
  readonly flags: ReadonlySet<string>;
  /** CPUID by leaf and subleaf, see `cpuidKey`; empty where it cannot be read. */
  readonly cpuid: ReadonlyMap<string, CpuidRegisters>;
  /** MIDR_EL1, on Arm. */
  readonly midr: number | null;
  /** The PMU's name in sysfs: `cpu`, `cpu_core`, `armv8_pmuv3_0`. */
  readonly pmu: string;
  /** Its `attr.type`; `null` where sysfs does not show it. */
  readonly pmuType: number | null;
  /** The names under its `events/`; `null` where they could not be listed. */
  readonly pmuEvents: ReadonlySet<string> | null;
  /** Its `caps/`. */
  readonly capabilities: ReadonlyMap<string, string>;
  /** `parseKernelLog` of the log; `null`: it could not be read, or says nothing of the PMU. */
  readonly kernelLog: KernelCounterReport | null;
  /** Whether the kernel's NMI watchdog is on (it holds one counter); `null`: not known. */
  readonly nmiWatchdog: boolean | null;
}

/** The key of a leaf in `CpuIdentity.cpuid`: `a.0`, `80000022.0`. */
export function cpuidKey(leaf: number, subleaf = 0): string {
  return `${(leaf >>> 0).toString(16)}.${subleaf.toString(16)}`;
}

/**
 * `general`: many events, one at a time. `fixed`: always the same one. `metric`: a share of Intel's slots
 * (top-down). `firmware`: kept by the firmware (RISC-V SBI).
 */
export type CounterKind = 'general' | 'fixed' | 'metric' | 'firmware';

/** One counter of a PMU. */
export interface CounterDescription {
  /** For people: `general 0`, `fixed 1 (core cycles)`. */
  readonly name: string;
  /** What may be counted on it. */
  readonly kind: CounterKind;
  /** The hardware's number within its kind. */
  readonly number: number;
  /** Width of the hardware counter in bits. The kernel adds up beyond it. */
  readonly widthBits: number;
  /** What `perf_event_mmap_page.index` says while an event is on it; `null` where the kernel never tells. */
  readonly pageIndex: number | null;
}

/** Which counters an event may be on. */
export interface EventConstraint {
  /** Numbers of general counters; a pair is named by its first. */
  readonly general: readonly number[];
  /** Numbers of fixed counters. */
  readonly fixed: readonly number[];
  /** It takes two neighbouring counters. */
  readonly isPair: boolean;
  /** A register that it shares with other events, which must agree on its value. */
  readonly exclusive: string | null;
}

/** An event that a family or a vendor's table has a name for. */
export interface EventDescription {
  /** As it stands in an event text: `pmu/name/`. */
  readonly name: string;
  /** What the vendor's documents call it. */
  readonly vendorName: string | null;
  /** As it stands between the slashes of `pmu/…/`: `event=0x3c,umask=0x00`. */
  readonly terms: string;
  /** `attr.config` that the terms make. */
  readonly config: bigint;
  /** `attr.config1` that the terms make. */
  readonly config1: bigint;
  /** For people. */
  readonly description: string;
  /** What one count is: `cycles`, `instructions`, `slots`, `events`. */
  readonly unit: string;
  /** The PMU it is on, by its name in sysfs. */
  readonly pmu: string;
  /** The counters it may be on. */
  readonly constraint: EventConstraint;
}

/** The part of an attr that decides about counters. */
export interface EventWords {
  /** `perf_event_attr.config`. */
  readonly config: bigint;
  /** `perf_event_attr.config1`. */
  readonly config1: bigint;
}

/** Where one event can be counted. */
export interface EventRequirement {
  /**
   * Alternatives, the preferred first; each is the set of counters (positions in `PmuModel.counters`) that
   * the event then takes together. Empty: no counter can count it, and `refusal` says why.
   */
  readonly places: readonly (readonly number[])[];
  /** For people: why no counter can count it. */
  readonly refusal?: string;
  /** A register outside the counters; at most `capacity` different values can be in force at a time. */
  readonly shared?: { readonly resource: string; readonly value: bigint; readonly capacity: number };
  /** The event of this config must lead its group. */
  readonly leader?: { readonly config: bigint; readonly name: string };
}

/** A term of the PMU's sysfs `format/`, by name. */
export type { TermLayout } from './term-layout.ts';

import type { TermLayout } from './term-layout.ts';

/** What is known of one PMU: its counters, its events, and what each may be on. */
export interface PmuModel {
  /** `PmuFamily.name`. */
  readonly family: string;
  /** For people: `Armv8 PMUv3 (Cortex-A76)`. */
  readonly title: string;
  /** Its name in sysfs, as in `CpuIdentity`. */
  readonly pmu: string;
  /** Its `attr.type`, as in `CpuIdentity`. */
  readonly pmuType: number | null;
  /** What may stand between the slashes of `pmu/…/`. */
  readonly terms: readonly TermLayout[];
  /** The position in this list is what plans and requirements name a counter by. */
  readonly counters: readonly CounterDescription[];
  /** Those that the family describes; `withVendorEvents` adds a table's. */
  readonly events: readonly EventDescription[];
  /** What the kernel counts for PERF_TYPE_HARDWARE, by its number. */
  readonly generic: ReadonlyMap<number, bigint>;
  /** The same for PERF_TYPE_HW_CACHE; `null`: the kernel's table is per model and not described here. */
  readonly cache: ReadonlyMap<number, bigint> | null;
  /**
   * What the kernel's NMI watchdog counts while it is on; `null`: it is off, or holds none of these counters.
   */
  readonly watchdog: bigint | null;
  /** Where an event can be counted: also one that has no name here. */
  requirementOf(event: EventWords): EventRequirement;
  /** What had to be assumed, and why. */
  readonly notes: readonly string[];
}

/** One family of PMUs. */
export interface PmuFamily {
  /** `intel-architectural`, `amd-core`, `armv8-pmuv3`, `riscv-sbi`, `power`, `mips`. */
  readonly name: string;
  /** Whether the CPU's PMU is one of this family. */
  matches(identity: CpuIdentity): boolean;
  /** Its model. Only for a CPU that matches. */
  describe(identity: CpuIdentity): PmuModel;
}
