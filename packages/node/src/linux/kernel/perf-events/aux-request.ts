/** What an event that writes a hardware trace wants. */
export interface AuxRequest {
  /** Size of each area: a power of two of pages. */
  sizeBytes: number;
  /** Smaller areas are taken without a word down to this size; with less the user is told. */
  enoughBytes: number;
  /** The fewest bytes that its driver takes. */
  leastBytes: number;
  /** The newest data writes over the oldest (snapshots, samples of the trace). */
  overwrites: boolean;
  /** The kernel copies the trace into samples: the area itself is never read. */
  isSampled: boolean;
  /** Most bytes of a snapshot: the newest. */
  takenBytes: number;
  /** The trace is entries of this size, and none goes over the end of the area. Absent: it is bytes. */
  entryBytes?: number;
}
