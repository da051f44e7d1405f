/** What every record has besides its own fields. `Type` is the number of its type, where one is known. */
export interface RecordBase<Type extends number = number> {
  /** Number of the type, one of `PERF_RECORD_*`: tells which fields a `PerfRecord` has. */
  type: Type;
  /** Flag bits of the header; their meaning depends on the type. */
  misc: number;
  /** Bytes after the known fields (a newer writer's), kept as they are. Empty as a rule. */
  tail: Uint8Array;
  /**
   * Bytes that an older writer's record lacks at its end: they read as zeros, and are
   * left out again while they are.
   */
  shortBy?: number;
  /** The trailer that `sample_id_all` adds to kernel records; absent in user records and old files. */
  sampleId?: SampleId;
}

/** Who, when, where and which event a kernel record belongs to. Absent fields were not recorded. */
export interface SampleId {
  /** Process; -1 where it has ended or cannot be seen. */
  pid?: number;
  /** Thread; -1 where it has ended or cannot be seen. */
  tid?: number;
  /** When, in nanoseconds of the recording's clock. */
  time?: bigint;
  /** Id of the event; of an inherited one, its parent's. */
  id?: bigint;
  /** Id of the event itself, which is its own where it was inherited. */
  streamId?: bigint;
  /** Number of the CPU. */
  cpu?: number;
}
