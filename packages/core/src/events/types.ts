import type { PerfEventAttr } from '../records/index.ts';

/** One event of the kernel's own table for a PMU (`events/NAME` and its `.scale`, `.unit` in sysfs). */
export interface PmuEvent {
  /** `event=0x3c,umask=0x1`. */
  readonly terms: string;
  /** For people; the kernel's own tables have none. */
  readonly description?: string;
  readonly unit?: string;
  readonly scale?: number;
  /** `NAME.per-pkg`: every CPU of a package reads the same count. */
  readonly perPackage?: boolean;
  /** `NAME.snapshot`: a value of now (a temperature), not a count that grows. */
  readonly snapshot?: boolean;
  /** Where it stands in a vendor's table; the kernel's own events have none. */
  readonly source?: string;
  /** What else the table says, for people. */
  readonly details?: readonly string[];
  /** The vendor's period for sampling, for where nobody says another. */
  readonly samplePeriod?: bigint;
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
  /**
   * Counts for CPUs what the generic events name: `cpu`, or one of several kinds of core (`cpu_core`,
   * `cpu_atom`, `armv8_cortex_a53`), which all have a file `cpus`.
   */
  readonly isCore?: boolean;
  /**
   * Whose it is, where this machine does not have it: `GenuineIntel-6-8F`. Its events
   * can be looked up, not opened.
   */
  readonly foreign?: string;
}

/** Something that exists, but not for us. */
export interface Unavailable {
  readonly unavailable: string;
  readonly remedy: string;
}

/** Code that probes can be set in: the functions of one file. */
export interface ProbeFile {
  /** As the kernel is given it: absolute. */
  readonly path: string;
  /** Functions by name: address as `nm` and `objdump` show it. */
  readonly functions: ReadonlyMap<string, number>;
  /** Their sizes in bytes, where the file says them. */
  readonly sizes?: ReadonlyMap<string, number>;
  /**
   * Names that only choose one of several functions at program start (IFUNC): probes
   * there are not what is meant.
   */
  readonly indirect: ReadonlySet<string>;
  /**
   * The name of a function as its author wrote it (`a::work`), and with its parameters (`a::work(int)`);
   * without it names are as they are.
   */
  readonly demangle?: (name: string, withParameters: boolean) => string;
  /**
   * A program of Go, whose runtime moves stacks and checks return addresses: it ends at the first
   * return probe that it meets then.
   */
  readonly isGo?: boolean;
  /** Where in the file the code of an address is; `null` where no code is loaded there. */
  offsetOf(address: number): number | null;
}

/** Field of a tracepoint, as its `format` file says. */
export interface TracepointField {
  readonly name: string;
  /** A C type: `char comm[16]` has `char[16]`. */
  readonly type: string;
  readonly isText: boolean;
  readonly isSigned: boolean;
}

/** What the machine offers. Everything here may be asked often; implementations remember. */
export interface EventLookup {
  pmu(name: string): PmuDescription | null;
  pmuNames(): readonly string[];
  /** PMUs that only a vendor's tables know: asked for what is on none of this machine's. */
  absentPmus?(): readonly PmuDescription[];
  /** The tracepoint's id; `null` where there is no such one. */
  tracepoint(system: string, name: string): number | null | Unavailable;
  /** Every `system:event`, for wildcards and near misses; empty where they cannot be listed. */
  tracepointNames(): readonly string[];
  /** What a filter may compare; `null` where it cannot be read. */
  tracepointFields?(system: string, name: string): readonly TracepointField[] | null;
  /** The code in a file, or why there is none. */
  probeFile?(path: string): ProbeFile | Unavailable;
  /** Functions of the kernel; empty where they cannot be listed. */
  kernelFunctions?(): ReadonlySet<string>;
}

/** Counted by the tool, not by the kernel: `stat` measures them itself. */
export type ToolEvent = 'duration_time' | 'user_time' | 'system_time';

/**
 * A place in code, for the kernel's probe PMUs (include/uapi/linux/perf_event.h,
 * `uprobe_path` and `probe_offset`):
 *
 *   attr.config   bit `retprobe`            set already
 *   attr.config1  pointer to `target`       the one who opens it: NUL-terminated memory that stays where it is
 *   attr.config2  `offset`                  set already
 */
export interface Probe {
  /** `uprobe`: a file's code; `kprobe`: the kernel's. */
  kind: 'uprobe' | 'kprobe';
  /** The file, or the kernel's function. */
  target: string;
  /** In bytes from the beginning of the file or function. */
  offset: bigint;
  isReturn: boolean;
  /** The function, where it was named. */
  symbol: string | null;
}

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
  /** `cpu=`: CPUs that were chosen for this event; `ParsedEvent.cpus` has what is left of them on its PMU. */
  cpus?: string;
  auxOutput?: boolean;
  auxSampleSizeBytes?: number;
  auxAction?: string;
  metricId?: string;
  /** `ratio-to-prev=`: reload with this share of the event before it in its group. */
  ratioToPrevious?: number;
  /** `R`: the retirement latency of the event, which only metrics can use. */
  retireLatency?: boolean;
  /** `X`: leave the groups as they were written. */
  keepGroup?: boolean;
  /** `@TERM` or `@TERM=VALUE`, for the driver of the PMU. */
  driverConfig?: string[];
}

/** One event that was asked for. */
export interface ParsedEvent {
  /**
   * As it was asked for, in the words that perf prints: `cycles:u`, `cpu/event=0x3c/`, or what `name=` says.
   */
  name: string;
  /**
   * As it was typed, where `name` says more: a wildcard that became several events,
   * `cycles` on each kind of core.
   */
  requestedName?: string;
  /**
   * Which event, and which part of it (`exclude*`, `preciseIp`); everything else is for the one who opens it.
   */
  attr: PerfEventAttr;
  /** Number of the `{}` group, `null` outside. */
  group: number | null;
  groupName?: string;
  /** First of its group, or alone. */
  isLeader: boolean;
  /** Unit and factor of the count. */
  unit?: string;
  scale?: number;
  perPackage?: boolean;
  snapshot?: boolean;
  /**
   * `period=` or `freq=` stands in the attr already (also the 1 of tracepoints and breakpoints is
   * in the attr, but not given).
   */
  periodGiven: boolean;
  /** What the event's table suggests for sampling, where neither the event nor the user says another. */
  suggestedPeriod?: bigint;
  pmu?: string;
  /** The only CPUs to open it on: `PmuDescription.cpus`. */
  cpus?: string;
  tracepoint?: { system: string; name: string };
  tool?: ToolEvent;
  probe?: Probe;
  /**
   * The PMU of another CPU, by its description: its numbers can be looked up here,
   * and mean nothing to this one.
   */
  foreignPmu?: string;
  /** For PERF_EVENT_IOC_SET_FILTER, once it is open. */
  filter?: string;
  /** What was understood otherwise than the words alone say, to be shown. */
  notes?: string[];
  options: EventOptions;
}
