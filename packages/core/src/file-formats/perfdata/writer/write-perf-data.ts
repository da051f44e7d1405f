import { PERF_RECORD_FINISHED_ROUND } from '../../../format/abi/index.ts';
import { BodyWriter, type PerfRecord } from '../../../format/records/index.ts';
import type { PerfDataFeatures } from '../features/index.ts';
import { encodeRecords, layoutByEvent, type RecordOrBytes } from './encode-records.ts';
import { finishFile, planFile } from './file-writer.ts';
import { pipeStart } from './pipe-writer.ts';
import type { WrittenEvent } from './written-event.ts';

/** What a recording is written from. */
export interface PerfDataContents {
  /** The events. */
  attrs: readonly WrittenEvent[];
  /** The records, in the order in which they are to stand. */
  records: Iterable<RecordOrBytes>;
  /** What the feature sections say. Default: no sections. */
  features?: Partial<PerfDataFeatures>;
  /** A file, or a stream that needs no seeking. Default: `file`. */
  mode?: 'file' | 'pipe';
  /** Byte order. Default: true. */
  littleEndian?: boolean;
}

const NOTHING: PerfRecord = { type: PERF_RECORD_FINISHED_ROUND, misc: 0, tail: new Uint8Array() };

/**
 * A whole recording in memory: for fixtures, tests and small conversions. A recorder
 * uses `planFile` or `pipeStart`.
 */
export function writePerfData(contents: PerfDataContents): Uint8Array<ArrayBuffer> {
  const { attrs, features = {}, littleEndian = true } = contents;
  let data = encodeRecords(contents.records, layoutByEvent(attrs), littleEndian);
  // A data size of 0 would say that the recorder was killed.
  if (data.length === 0) data = encodeRecords([NOTHING], null, littleEndian);
  const writer = new BodyWriter(littleEndian, data.length + 4096);
  if (contents.mode === 'pipe') {
    writer.rest(pipeStart({ attrs, features, littleEndian }));
    writer.rest(data);
    return writer.take();
  }
  const plan = planFile({ attrs, littleEndian });
  const { header, tail } = finishFile(plan, data.length, features);
  for (const part of [plan.header, data, tail]) writer.rest(part);
  const bytes = writer.take();
  bytes.set(header);
  return bytes;
}
