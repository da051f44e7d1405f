import { Handoff } from '../../../base/index.ts';
import { PERF_RECORD_USER_TYPE_START } from '../../../format/abi/index.ts';
import { decodeRecord, type PerfRecord } from '../../../format/records/index.ts';
import type { RecordedEvent } from './event-table.ts';
import { checkNames, noRecording } from './no-recording.ts';
import type { PerfDataReader, ScanOptions } from './reader.ts';

/** A record with what it belongs to. */
export interface OrderedRecord {
  /** The record. */
  record: PerfRecord;
  /** Null for records of user space, and where the id is not known. */
  event: RecordedEvent | null;
  /** Where it stands in the file or stream, in bytes. */
  fileOffset: number;
}

class Stopped extends Error {}

/**
 * Every record as an owned object, kernel records in order of time. The easy way, some
 * microseconds a record; for millions of samples give `reader.scan` a sink. Reading goes no
 * further than what is asked for (and one chunk).
 */
export async function* readRecords(
  reader: PerfDataReader,
  options: Omit<ScanOptions, 'onChunk'> = {},
): AsyncGenerator<OrderedRecord, void, undefined> {
  if (!reader?.events || typeof reader.scan !== 'function') throw noRecording('readRecords()');
  checkNames('readRecords()', options, ['signal', 'onProgress', 'unordered']);
  const handoff = new Handoff<OrderedRecord[]>();
  let batch: OrderedRecord[] = [];
  const le = reader.littleEndian;
  const flush = async () => {
    if (batch.length === 0) return;
    const full = batch;
    batch = [];
    if (!(await handoff.put(full))) throw new Stopped();
  };
  const sink = {
    record(view: DataView, start: number, end: number, type: number, fileOffset: number) {
      const event =
        type >= PERF_RECORD_USER_TYPE_START ? null : reader.events.eventOf(view, start, end, type, le);
      batch.push({
        record: decodeRecord(view, start, end - start, event?.layout ?? null, le),
        event,
        fileOffset,
      });
    },
  };
  const run = async () => {
    try {
      await reader.scan(sink, { ...options, onChunk: flush });
      await flush();
      handoff.end();
    } catch (error) {
      handoff.fail(error);
    }
  };
  run();
  for await (const records of handoff) yield* records;
}
