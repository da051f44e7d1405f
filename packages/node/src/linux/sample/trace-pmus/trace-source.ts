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
}

/** A PMU whose events write a trace of their own kind into an AUX area. */
export interface TraceSource {
  /** Its name in sysfs. */
  readonly pmu: string;
  /** Sets the attr, and asks for the AUX area. Throws for what this machine's PMU cannot do. */
  plan(event: PlannedEvent, request: TraceRequest): void;
  /** Whether a trace of many threads can be told apart only by their switches. */
  needsSwitches(event: PlannedEvent): boolean;
  /** AUXTRACE_INFO: what a reader must know that the trace does not tell. */
  info(event: PlannedEvent, open: OpenTrace): AuxtraceInfoRecord;
  /** Its clock at a time of CLOCK_MONOTONIC, about, for AUXTRACE records. */
  reference(open: Pick<OpenTrace, 'eventPage'>, nowNs: bigint): bigint;
}
