import type { Probe } from '@counterpoint/core/events';
import type { PerfEventAttr } from '@counterpoint/core/records';
import type { AuxRequest } from './aux-request.ts';

/** One event as it will be opened: plain data, to be shown or opened. */
export interface PlannedEvent {
  /** As the user asked for it. */
  requestedName: string;
  /** What it is in the end: `cycles:u` where the kernel's part had to be left out. */
  name: string;
  /** The attr that the kernel will get (`struct perf_event_attr` of linux/perf_event.h). */
  attr: PerfEventAttr;
  /** Index of the group's leader among the events; null for a leader and outside groups. */
  leader: number | null;
  /** The only CPUs to open it on; null is all of the target's. */
  cpus: readonly number[] | null;
  /** Take the highest precision that the PMU has, not exactly the attr's. */
  mostPrecise: boolean;
  /** Where its format is described, for a tracepoint. */
  tracepoint: { system: string; name: string } | null;
  /** The place in code that the attr must point to while it is opened. */
  probe?: Probe | null;
  /**
   * A program is to see all hits of the probe at one place: it is defined in tracefs,
   * whoever inherits the event.
   */
  isDefined?: boolean;
  /** What the kernel lets through, for a tracepoint. */
  filter?: string | null;
  /** The control group that it is of: a path below the mount. */
  cgroup?: string | null;
  /** Whose event it is, where this machine cannot have it: it can be planned, and not be opened. */
  foreignPmu?: string | null;
  /** Why `name` is not what was requested. */
  changes: EventChange[];
  /** Counts nothing: it is there for the records of processes and maps. */
  isSideband: boolean;
  /** Bits of its `sample_type` that the kernel is not told: somebody else writes its samples. */
  sampleBitsOfOthers?: bigint;
  /** What the file says that it is: the kernel has it as something that never happens. */
  writtenAs?: Pick<PerfEventAttr, 'type' | 'config'>;
  /** Of a tracepoint with a program, which sees each hit: how many hits are one overflow. */
  hitsPerOverflow?: number;
  /**
   * It writes a hardware trace: each of its rings gets an AUX area. One event of a plan may.
   *
   * @internal
   */
  aux?: AuxRequest;
  /** Its records go nowhere: it is opened without a ring. */
  hasNoRing?: boolean;
}

/** One thing that had to be given up. */
export interface EventChange {
  /**
   * What was done: another event was taken (`event-replaced`), or the kernel's part was left out
   * (`kernel-excluded`).
   */
  kind: 'event-replaced' | 'kernel-excluded';
  /** The reason, as a clause for a person. */
  why: string;
}
