import type { PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { DrainedFile, RoundSink } from '../reader/index.ts';

/**
 * A PERF_RECORD_FINISHED_ROUND, which is all header: type 68, misc 0, size 8. Every machine
 * that records is little-endian.
 */
export const FINISHED_ROUND = Uint8Array.of(68, 0, 0, 0, 0, 0, 8, 0);

/**
 * What is made of a mark that is taken back: a PERF_RECORD_HEADER_EVENT_TYPE, which is all
 * header. No recorder has written them since Linux 3.10, and perf passes over them, as readers
 * here do where they hold nothing.
 */
export const TAKEN_BACK_ROUND = Uint8Array.of(65, 0, 0, 0, 0, 0, 8, 0);

/** As many of the latest rounds can be given up again when the end of the output finds no room. */
export const REMEMBERED_ROUNDS = 64;

/** Where a recording is written: a file, a pipe, or a stream in this process. */
export interface RecordingOutput extends RoundSink {
  /** Bytes written so far. */
  readonly sizeBytes: number;
  /**
   * Records may come that are older than those of a round before. A file takes back that those rounds are
   * finished; a pipe cannot, and never says that one is: readers sort all.
   */
  hasLateRecords: boolean;
  /**
   * Before the first record. `features` are what is known so early: a file writes
   * them at its end, a pipe cannot.
   */
  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): void | Promise<void>;
  /**
   * Records that were made here, whole ones. `oldestNs`: the time of the oldest, on
   * CLOCK_MONOTONIC, where they may be late.
   */
  writeRecords(bytes: Uint8Array<ArrayBuffer>, oldestNs?: number): void | Promise<void>;
  /**
   * After the last round. `closing` gives the last records for an end of the rounds: a file may have to give
   * up some of the latest rounds for want of room. Resolves to that end.
   */
  finish(features: Partial<PerfDataFeatures>, closing: ClosingRecords): number | Promise<number>;
  /**
   * Where a thread may write the rounds instead, after `begin`: null where not, or not for ever (a
   * pipe cannot be read again).
   */
  drained?(): DrainedFile | null;
  /** Complete this file, and go on in another one. */
  switch?(features: Partial<PerfDataFeatures>): Promise<void>;
  /** Where in the file the next bytes will stand. Absent: there is no file, or others may write before. */
  readonly nextOffset?: number | undefined;
  /** Of the file that is being written, where there are several. */
  readonly fileBytes?: number;
  /** Where it is in the end, if not where it was begun. */
  readonly finalPath?: string | undefined;
  /** Whether the features that `finish` is given stay with it; absent: not. */
  readonly keepsFeatures?: boolean;
  /** After a failure: where the rounds that were written end. Null, or absent: nothing failed here unseen. */
  readonly wholeBytes?: number | null;
  close(): void;
}

/** Records of what is lost, when the rounds end at this offset; maybe none. */
export type ClosingRecords = (roundsEnd: number) => Uint8Array<ArrayBuffer>;

/** What helps besides where an output has no room. */
export const OR_LIMIT = 'or limit the recording with --max-size';
