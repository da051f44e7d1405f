/** On the recording's clock, both ends included; null is open. */
export interface TimeRange {
  fromNs: bigint | null;
  toNs: bigint | null;
}

/** Which samples to take, by what stands in the sample itself. Absent: all. */
export interface SampleFilter {
  pids?: ReadonlySet<number>;
  tids?: ReadonlySet<number>;
  comms?: ReadonlySet<string>;
  cpus?: ReadonlySet<number>;
  /** On the recording's clock, both ends included. */
  fromNs?: bigint | null;
  toNs?: bigint | null;
  /** In one of these, besides. */
  times?: readonly TimeRange[];
  /** Index of events to take. */
  events?: ReadonlySet<number>;
}
