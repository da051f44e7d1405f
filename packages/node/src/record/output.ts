import type { PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { RoundSink } from '../reader/index.ts';

/** A PERF_RECORD_FINISHED_ROUND, which is all header: type 68, misc 0, size 8. Every machine that records is little-endian. */
export const FINISHED_ROUND = Uint8Array.of(68, 0, 0, 0, 0, 0, 8, 0);

/** Where a recording is written: a file, a pipe, or a stream in this process. */
export interface RecordingOutput extends RoundSink {
  /** Bytes written so far. */
  readonly sizeBytes: number;
  /** Before the first record. `features` are what is known so early: a file writes them at its end, a pipe cannot. */
  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): void | Promise<void>;
  /** Records that were made here, whole ones. */
  writeRecords(bytes: Uint8Array<ArrayBuffer>): void | Promise<void>;
  /** After the last record. Resolves to the bytes of records that had to be left out to complete the output. */
  finish(features: Partial<PerfDataFeatures>): number | Promise<number>;
  close(): void;
}
