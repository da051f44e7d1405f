/** A tracepoint's record: raw bytes within a view. */
export interface RawRecord {
  view: DataView;
  offset: number;
  size: number;
  le: boolean;
}

/** Prints a record as the kernel would. */
export type RecordPrinter = (record: RawRecord) => string;
