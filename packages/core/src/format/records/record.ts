import type { PERF_RECORD_SAMPLE } from '../abi/index.ts';
import type { TableRecord } from './generated/records.ts';
import type { RecordBase } from './record-base.ts';
import type { Sample } from './sample.ts';

/** A record of a type that this library does not know. */
export interface RawRecord extends RecordBase {
  /** Tells it from records that were decoded. */
  raw: true;
  /** All bytes after the header, with a trailer where it has one. */
  body: Uint8Array;
}

/** A sample, decoded by the layout of its event. PERF_RECORD_SAMPLE (9). */
export interface SampleRecord extends RecordBase<typeof PERF_RECORD_SAMPLE> {
  /** What the event's `sample_type` asked for. */
  sample: Sample;
}

/** A record as a value. `isSample` and `isRaw` tell the kinds apart, then `type` the records. */
export type PerfRecord = TableRecord | SampleRecord | RawRecord;
