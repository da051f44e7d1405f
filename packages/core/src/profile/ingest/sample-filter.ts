/** On the recording's clock, both ends included; null is open. */
export interface TimeRange {
  /** The first time in it; null: from the beginning. */
  fromNs: bigint | null;
  /** The last time in it; null: to the end. */
  toNs: bigint | null;
}

/** Which samples to take, by what stands in the sample itself. Absent: all. */
export interface SampleFilter {
  /** Only samples of these processes. */
  pids?: ReadonlySet<number>;
  /** Only samples of these threads. */
  tids?: ReadonlySet<number>;
  /** Only samples of threads that had one of these names. */
  comms?: ReadonlySet<string>;
  /** Only samples on these CPUs. */
  cpus?: ReadonlySet<number>;
  /** Only samples from this time on, on the recording's clock. */
  fromNs?: bigint | null;
  /** Only samples up to this time, on the recording's clock. */
  toNs?: bigint | null;
  /** Only samples in one of these ranges, too. */
  times?: readonly TimeRange[];
  /** Index of events to take. */
  events?: ReadonlySet<number>;
}
