import type { PerfEventAttr } from '../../format/records/index.ts';

/** One event of the kernel's own table for a PMU (`events/NAME` and its `.scale`, `.unit` in sysfs). */
export interface PmuEvent {
  /** `event=0x3c,umask=0x1`. */
  readonly terms: string;
  /** For people; the kernel's own tables have none. */
  readonly description?: string;
  /** What the count is in, once it is multiplied by `scale`: `Joules`, `MiB`. */
  readonly unit?: string;
  /** Factor of the count: 2^-32 for the energy counters. Default: 1. */
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
  /** As in sysfs: `cpu`, `uncore_imc_0`. */
  readonly name: string;
  /** `attr.type`. */
  readonly type: number;
  /** Term -> where its bits go: `config:0-7,32-35`. */
  readonly formats: ReadonlyMap<string, string>;
  /** Of its table, by name; those of a vendor's table have a `source`. */
  readonly events: ReadonlyMap<string, PmuEvent>;
  /** What `config` is before any term; terms then replace bits instead of adding them (Intel PT). */
  readonly defaultConfig?: bigint | undefined;
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
  /** Why not, for people: `tracepoints are named in /sys/kernel/tracing, which only root may read`. */
  readonly unavailable: string;
  /** What to do about it, as a sentence; may be empty. */
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
  /** As a filter writes it. */
  readonly name: string;
  /** A C type: `char comm[16]` has `char[16]`. */
  readonly type: string;
  /** Characters in an array, or behind a pointer: compared with `==`, `!=` and `~`. */
  readonly isText: boolean;
  /** It may be negative: a filter may compare it with -1. */
  readonly isSigned: boolean;
}

/** What the machine offers. Everything here may be asked often; implementations remember. */
export interface EventLookup {
  /** The PMU of exactly this name; `null`: this machine has none. */
  pmu(name: string): PmuDescription | null;
  /** All of this machine, in any order. */
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
  /** At the return of the function, not at its entry. */
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
  /** `time=`: whether samples have a time. */
  time?: boolean;
  /** `no`, `fp`, `dwarf`, `lbr`. */
  callGraph?: string;
  /** `stack-size=`: how much of the stack is copied into each sample, for `dwarf`. */
  stackSizeBytes?: number;
  /** `max-stack=`: most frames of a call chain. */
  maxStack?: number;
  /** `branch_type=`: which branches a sample has, joined by `|`: `any_call|u`. */
  branchType?: string;
  /** `inherit`, `no-inherit`: whether children of the target are counted, too. */
  inherit?: boolean;
  /** `overwrite`, `no-overwrite`: whether a full ring loses its oldest records, not the newest. */
  overwrite?: boolean;
  /** `nr=`: stop after N. */
  maxEvents?: number;
  /** `percore`: add up the threads of a core. */
  perCore?: boolean;
  /** `cpu=`: CPUs that were chosen for this event; `ParsedEvent.cpus` has what is left of them on its PMU. */
  cpus?: string;
  /** `aux-output`: the samples go into the trace of the group's leader (PEBS via PT). */
  auxOutput?: boolean;
  /** `aux-sample-size=`: how much of the trace is copied into each sample. */
  auxSampleSizeBytes?: number;
  /** `aux-action=`: `pause` or `resume` the trace where this event happens; `start-paused` for the trace. */
  auxAction?: string;
  /** `metric-id=`: the event's name in a metric, which may be another than the shown one. */
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
  /** What stands before the `{`; absent for a group without a name. */
  groupName?: string;
  /** First of its group, or alone. */
  isLeader: boolean;
  /** Unit and factor of the count. */
  unit?: string;
  /** Multiply the count by this to have it in `unit`. Absent: 1. */
  scale?: number;
  /** Every CPU of a package reads the same count: open it on one, or do not add up. */
  perPackage?: boolean;
  /** A value of now, not a count that grows: do not take differences. */
  snapshot?: boolean;
  /**
   * `period=` or `freq=` stands in the attr already (also the 1 of tracepoints and breakpoints is
   * in the attr, but not given).
   */
  periodGiven: boolean;
  /** What the event's table suggests for sampling, where neither the event nor the user says another. */
  suggestedPeriod?: bigint;
  /** The PMU whose event it is, by its name in sysfs; absent for the kernel's generic events. */
  pmu?: string;
  /** The only CPUs to open it on: `PmuDescription.cpus`. */
  cpus?: string;
  /** Its names, where it is one: `attr.config` has the id. */
  tracepoint?: { system: string; name: string };
  /** Not the kernel's: measure it yourself. The attr is that of a dummy event. */
  tool?: ToolEvent;
  /** Where it is a probe: what its opener has to complete in the attr. */
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
  /** What the words ask of the opener. Empty: nothing. */
  options: EventOptions;
}
