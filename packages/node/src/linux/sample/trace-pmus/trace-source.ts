import type { ParsedEvent } from '@counterpoint/core/events';
import type { AuxtraceInfoRecord } from '@counterpoint/core/records';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';

/** How a trace is recorded. */
export interface TraceRequest {
  /** Of each AUX area; absent: the source's own choice. */
  areaBytes?: number;
  /**
   * The newest data writes over the oldest, until a snapshot of at most this many bytes is taken (Infinity:
   * of the whole area); 0: no snapshots.
   */
  snapshotBytes: number;
  /** At most this many bytes of the trace in samples of other events; 0: none. */
  sampleBytes: number;
  /** Memory may be locked as much as wanted. */
  isPrivileged: boolean;
  pageBytes: number;
  /** The only CPUs that are traced; absent: all. */
  cpus?: readonly number[];
}

/** What is known when the events are open. */
export interface OpenTrace {
  /** The first page of a ring: how the kernel's clock hangs together with the CPU's. */
  eventPage: ArrayBuffer;
  /** Context switches are recorded: 0 not, 2 of the target, 3 of whole CPUs. */
  switches: 0 | 2 | 3;
  isSnapshot: boolean;
  /** Of the event, in the kernel's words; empty: none. */
  filter: string;
  /** The CPUs that have an area; none where areas are of threads. */
  cpus: readonly number[];
}

/** A PMU whose events write a trace of their own kind into an AUX area. */
export interface TraceSource {
  /** Whether the PMU of this name in sysfs is one. */
  isOf(pmu: string): boolean;
  /**
   * Whose trace an area has: that of a CPU, whose threads are told apart when it is read, or that of a
   * thread, where nothing in the trace tells them apart.
   */
  readonly scope: 'cpus' | 'threads';
  /**
   * Of a PMU that samples: how much is between two samples, where nobody says. Absent: a trace has no rate.
   */
  usualPeriod?(pmu: string): bigint;
  /** Terms `@NAME` of its events are for it. */
  readonly hasDriverTerms?: true;
  /** Sets the attr, and asks for the AUX area. Throws for what this machine's PMU cannot do. */
  plan(event: PlannedEvent, request: TraceRequest, parsed: ParsedEvent): void;
  /** Whether a trace of many threads can be told apart only by their switches. */
  needsSwitches(event: PlannedEvent): boolean;
  /** AUXTRACE_INFO: what a reader must know that the trace does not tell. */
  info(event: PlannedEvent, open: OpenTrace): AuxtraceInfoRecord;
  /** Its clock at a time of CLOCK_MONOTONIC, about, for AUXTRACE records. */
  reference(open: Pick<OpenTrace, 'eventPage'>, nowNs: bigint): bigint;
}
