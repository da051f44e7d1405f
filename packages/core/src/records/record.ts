import type { PERF_RECORD_SAMPLE } from '../abi/index.ts';
import type { TableRecord } from './generated/records.ts';
import type { RecordBase } from './record-base.ts';
import type { Sample } from './sample.ts';

/** A record of a type that this library does not know. */
export interface RawRecord extends RecordBase {
  raw: true;
  body: Uint8Array;
}

export interface SampleRecord extends RecordBase {
  type: typeof PERF_RECORD_SAMPLE;
  sample: Sample;
}

export type PerfRecord = TableRecord | SampleRecord | RawRecord;
