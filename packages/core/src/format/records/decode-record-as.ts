import { bigIntAt } from '../../base/index.ts';
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  RECORD_HEADER_SIZE,
} from '../abi/index.ts';
import { BodyReader } from './body-reader.ts';
import type { RecordBase, SampleId } from './record-base.ts';
import type { SampleLayout } from './sample-layout.ts';

const scratchReader = new BodyReader(new DataView(new ArrayBuffer(0)));

/**
 * Decodes a record of a known type with the reader of that type, such as `readLost`. The result is an owned
 * value, with its trailer if `layout` has one. A bundle then has only the readers that it uses.
 * `decodeRecord` needs all of them.
 */
export function decodeRecordAs<R extends RecordBase>(
  read: (reader: BodyReader, misc: number) => R,
  view: DataView,
  start: number,
  size: number,
  layout: SampleLayout | null,
  littleEndian = true,
): R {
  const end = start + size;
  const trailer = trailerSize(view.getUint32(start, littleEndian), size, layout);
  scratchReader.reset(view, start, start + RECORD_HEADER_SIZE, end - trailer, littleEndian);
  const record = read(scratchReader, view.getUint16(start + 4, littleEndian));
  if (scratchReader.missing > 0) record.shortBy = scratchReader.missing;
  if (trailer > 0) record.sampleId = decodeSampleId(view, end - trailer, layout!, littleEndian);
  return record;
}

/**
 * Bytes of a record's trailer. 0 for samples, for records of the recorder, and
 * for records that are too short.
 */
export function trailerSize(type: number, size: number, layout: SampleLayout | null): number {
  if (layout === null || type >= PERF_RECORD_USER_TYPE_START || type === PERF_RECORD_SAMPLE) return 0;
  return layout.trailerSize + RECORD_HEADER_SIZE <= size ? layout.trailerSize : 0;
}

/** Decode a trailer that starts at `at` and is complete. */
export function decodeSampleId(view: DataView, at: number, layout: SampleLayout, le: boolean): SampleId {
  const bits = layout.sampleType;
  let pos = at;
  const next = () => {
    const value = bigIntAt(view, pos, le);
    pos += 8;
    return value;
  };
  const out: SampleId = {};
  if ((bits & PERF_SAMPLE_TID) !== 0) {
    out.pid = view.getInt32(pos, le);
    out.tid = view.getInt32(pos + 4, le);
    pos += 8;
  }
  if ((bits & PERF_SAMPLE_TIME) !== 0) out.time = next();
  if ((bits & PERF_SAMPLE_ID) !== 0) out.id = next();
  if ((bits & PERF_SAMPLE_STREAM_ID) !== 0) out.streamId = next();
  if ((bits & PERF_SAMPLE_CPU) !== 0) {
    out.cpu = view.getInt32(pos, le);
    pos += 8;
  }
  if ((bits & PERF_SAMPLE_IDENTIFIER) !== 0) out.id = next();
  return out;
}
