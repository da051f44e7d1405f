import type { PerfEventAttr } from '../records/index.ts';

/** One event of the kernel's own table for a PMU (`events/NAME` and its `.scale`, `.unit` in sysfs). */
export interface PmuEvent {
  /** `event=0x3c,umask=0x1`. */
  readonly terms: string;
  readonly unit?: string;
  readonly scale?: number;
}

/** A PMU as sysfs describes it; the maps may be read when they are first asked for. */
export interface PmuDescription {
  readonly name: string;
  /** `attr.type`. */
  readonly type: number;
  /** Term -> where its bits go: `config:0-7,32-35`. */
  readonly formats: ReadonlyMap<string, string>;
  readonly events: ReadonlyMap<string, PmuEvent>;
  /** What `config` is before any term; terms then replace bits instead of adding them (Intel PT). */
  readonly defaultConfig?: bigint;
  /** CPUs on which the PMU counts for others too (`cpumask`), or the only ones it has (`cpus`): `0,18`. */
  readonly cpus?: string | undefined;
}

/** Something that exists, but not for us. */
export interface Unavailable {
  readonly unavailable: string;
  readonly remedy: string;
}

/** What the machine offers. Everything here may be asked often; implementations remember. */
export interface EventLookup {
  pmu(name: string): PmuDescription | null;
  pmuNames(): readonly string[];
  /** The tracepoint's id; `null` where there is no such one. */
  tracepoint(system: string, name: string): number | null | Unavailable;
  /** Every `system:event`, for wildcards and near misses; empty where they cannot be listed. */
  tracepointNames(): readonly string[];
}

/** Counted by the tool, not by the kernel: `stat` measures them itself. */
export type ToolEvent = 'duration_time' | 'user_time' | 'system_time';

/** What an event asks of the one who opens it, beyond its attr. */
export interface EventOptions {
  /** `P`: as precise as the PMU can. */
  mostPrecise?: boolean;
  /** `S`: only the leader samples, and reads the group. */
  sampleRead?: boolean;
  /** `W`: break the group up when it cannot be scheduled. */
  weakGroup?: boolean;
  /** `b`: count by a BPF program. */
  bpfCounter?: boolean;
  time?: boolean;
  /** `no`, `fp`, `dwarf`, `lbr`. */
  callGraph?: string;
  stackSizeBytes?: number;
  maxStack?: number;
  branchType?: string;
  inherit?: boolean;
  overwrite?: boolean;
  /** `nr=`: stop after so many. */
  maxEvents?: number;
  perCore?: boolean;
  auxOutput?: boolean;
  auxSampleSizeBytes?: number;
  auxAction?: string;
  metricId?: string;
  /** `@TERM` or `@TERM=VALUE`, for the driver of the PMU. */
  driverConfig?: string[];
}

/** One event that was asked for. */
export interface ParsedEvent {
  /** As it was asked for, in the words that perf prints: `cycles:u`, `cpu/event=0x3c/`, or what `name=` says. */
  name: string;
  /** Which event, and which part of it (`exclude*`, `preciseIp`); everything else is for the one who opens it. */
  attr: PerfEventAttr;
  /** Number of the `{}` group, `null` outside. */
  group: number | null;
  groupName?: string;
  /** First of its group, or alone. */
  isLeader: boolean;
  /** Unit and factor of the count. */
  unit?: string;
  scale?: number;
  /** `period=` or `freq=` stands in the attr already (also the 1 of tracepoints and breakpoints is in the attr, but not given). */
  periodGiven: boolean;
  pmu?: string;
  /** The only CPUs to open it on: `PmuDescription.cpus`. */
  cpus?: string;
  tracepoint?: { system: string; name: string };
  tool?: ToolEvent;
  options: EventOptions;
}
