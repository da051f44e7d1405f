import type { Diagnostic } from '../../../base/index.ts';
import type { LossFacts } from '../../../format/loss/index.ts';
import { checkNames, noRecording } from './no-recording.ts';
import type { PerfDataReader, RecordSink, ScanOptions } from './reader.ts';

/**
 * Where the records of a recording come from, in order of time. A reader is one: what was recorded.
 * Another puts records of its own among them, such as samples out of a hardware trace: what takes a
 * source knows nothing of traces.
 */
export interface RecordSource {
  /** The recording: its events, features and damage. */
  readonly reader: PerfDataReader;
  /**
   * Drive every record through `sink`. Can be called once. Null where nothing was
   * added to the recording's own.
   */
  scan(sink: RecordSink, options?: SourceScanOptions): Promise<AddedRecords | null>;
}

/** Options of reading a source of records. */
export interface SourceScanOptions extends ScanOptions {
  /** Samples that are added shall tell how many cycles their instructions took, where that is known. */
  countsCycles?: boolean;
}

/** What a source says of the records that it added. */
export interface AddedRecords {
  /** What was wrong: code that is missing, data that cannot be read. */
  readonly diagnostics: readonly Diagnostic[];
  /** What is missing among them, for the ledger of the recording. */
  readonly losses: readonly LossFacts[];
  /** The recording's hardware traces are decoded: their samples are among the records. */
  readonly hasTraces?: boolean;
  /** Copies of user stacks are unwound: their callers are in the call chains. */
  readonly hasCallers?: boolean;
}

const SCAN_OPTIONS = ['signal', 'onProgress', 'unordered', 'onChunk'];

export function checkScanOptions(where: string, options: object): void {
  checkNames(where, options, SCAN_OPTIONS);
}

/** Throws `ERR_ARGUMENT` for anything else: most often it is the file, which has to be opened first. */
export function checkRecordSource(where: string, source: unknown): void {
  const given = source as Partial<RecordSource> | null | undefined;
  if (given?.reader && typeof given.scan === 'function') return;
  throw noRecording(where);
}
