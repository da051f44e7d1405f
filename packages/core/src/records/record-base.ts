/** What every record has besides its own fields. */
export interface RecordBase {
  type: number;
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
  pid?: number;
  tid?: number;
  time?: bigint;
  id?: bigint;
  streamId?: bigint;
  cpu?: number;
}
