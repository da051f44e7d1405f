/**
 * What is known of a machine's CPUs (plain data that a host collects), and what a
 * family says of their counters.
 */

export interface CpuidRegisters {
  readonly eax: number;
  readonly ebx: number;
  readonly ecx: number;
  readonly edx: number;
}

/** What the kernel's log said of the PMU when it started, where that could be read. */
export interface KernelCounterReport {
  readonly general: number | null;
  readonly fixed: number | null;
  readonly widthBits: number | null;
  readonly firmware: number | null;
}

/** One kind of core. A hybrid machine has several, each with a PMU of its own. */
export interface CpuIdentity {
  readonly architecture: 'x86' | 'arm64' | 'arm' | 'riscv' | 'powerpc' | 'mips' | 'other';
  /** x86: the string of CPUID leaf 0 (`GenuineIntel`); elsewhere `null`. */
  readonly vendor: string | null;
  readonly family: number | null;
  readonly model: number | null;
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
  readonly kernelLog: KernelCounterReport | null;
  /** Whether the kernel's NMI watchdog is on (it holds one counter); `null`: not known. */
  readonly nmiWatchdog: boolean | null;
}

/** The key of a leaf in `CpuIdentity.cpuid`: `a.0`, `80000022.0`. */
export function cpuidKey(leaf: number, subleaf = 0): string {
  return `${(leaf >>> 0).toString(16)}.${subleaf.toString(16)}`;
}

export type CounterKind = 'general' | 'fixed' | 'metric' | 'firmware';

export interface CounterDescription {
  /** For people: `general 0`, `fixed 1 (core cycles)`. */
  readonly name: string;
  readonly kind: CounterKind;
  /** The hardware's number within its kind. */
  readonly number: number;
  readonly widthBits: number;
  /** What `perf_event_mmap_page.index` says while an event is on it; `null` where the kernel never tells. */
  readonly pageIndex: number | null;
}

/** Which counters an event may be on. */
export interface EventConstraint {
  /** Numbers of general counters; a pair is named by its first. */
  readonly general: readonly number[];
  readonly fixed: readonly number[];
  /** It takes two neighbouring counters. */
  readonly isPair: boolean;
  /** A register that it shares with other events, which must agree on its value. */
  readonly exclusive: string | null;
}

export interface EventDescription {
  readonly name: string;
  /** What the vendor's documents call it. */
  readonly vendorName: string | null;
  /** As it stands between the slashes of `pmu/…/`: `event=0x3c,umask=0x00`. */
  readonly terms: string;
  readonly config: bigint;
  readonly config1: bigint;
  readonly description: string;
  /** What one count is: `cycles`, `instructions`, `slots`, `events`. */
  readonly unit: string;
  readonly pmu: string;
  readonly constraint: EventConstraint;
}

/** The part of an attr that decides about counters. */
export interface EventWords {
  readonly config: bigint;
  readonly config1: bigint;
}

/** Where one event can be counted. */
export interface EventRequirement {
  /**
   * Alternatives, the preferred first; each is the set of counters (positions in `PmuModel.counters`) that
   * the event then takes together. Empty: no counter can count it, and `refusal` says why.
   */
  readonly places: readonly (readonly number[])[];
  readonly refusal?: string;
  /** A register outside the counters; at most `capacity` different values can be in force at a time. */
  readonly shared?: { readonly resource: string; readonly value: bigint; readonly capacity: number };
  /** The event of this config must lead its group. */
  readonly leader?: { readonly config: bigint; readonly name: string };
}

/** A term of the PMU's sysfs `format/`, by name. */
export type { TermLayout } from './term-layout.ts';

import type { TermLayout } from './term-layout.ts';

export interface PmuModel {
  /** `PmuFamily.name`. */
  readonly family: string;
  readonly title: string;
  readonly pmu: string;
  readonly pmuType: number | null;
  readonly terms: readonly TermLayout[];
  readonly counters: readonly CounterDescription[];
  readonly events: readonly EventDescription[];
  /** What the kernel counts for PERF_TYPE_HARDWARE, by its number. */
  readonly generic: ReadonlyMap<number, bigint>;
  /** The same for PERF_TYPE_HW_CACHE; `null`: the kernel's table is per model and not described here. */
  readonly cache: ReadonlyMap<number, bigint> | null;
  /**
   * What the kernel's NMI watchdog counts while it is on; `null`: it is off, or holds none of these counters.
   */
  readonly watchdog: bigint | null;
  requirementOf(event: EventWords): EventRequirement;
  /** What had to be assumed, and why. */
  readonly notes: readonly string[];
}

/** One family of PMUs. */
export interface PmuFamily {
  readonly name: string;
  matches(identity: CpuIdentity): boolean;
  describe(identity: CpuIdentity): PmuModel;
}
