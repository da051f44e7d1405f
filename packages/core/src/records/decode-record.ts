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
import { toBigInt } from '../base/index.ts';
import { BodyReader } from './body-reader.ts';
import type { BodyWriter } from './body-writer.ts';
import { encodeSample, encodeSampleId } from './encode-sample.ts';
import { READERS, type TableRecord, WRITERS } from './generated/records.ts';
import type { PerfRecord, RawRecord, SampleRecord } from './record.ts';
import type { SampleId } from './record-base.ts';
import { decodeSample } from './sample.ts';
import { SampleFields } from './sample-fields.ts';
import type { SampleLayout } from './sample-layout.ts';

const scratchReader = new BodyReader(new DataView(new ArrayBuffer(0)));
const scratchFields = new SampleFields();

/**
 * The record at `[start, start + size)` as an owned value. `layout` is that of its event's attr (null: none
 * known, then samples stay raw and trailers stay in `tail`). Types that are not known stay raw. Throws
 * nothing on any bytes; `size` must be at least 8 and inside the view.
 */
export function decodeRecord(
  view: DataView,
  start: number,
  size: number,
  layout: SampleLayout | null,
  littleEndian = true,
): PerfRecord {
  const end = start + size;
  const type = view.getUint32(start, littleEndian);
  const misc = view.getUint16(start + 4, littleEndian);
  if (type === PERF_RECORD_SAMPLE && layout !== null) {
    const sample = decodeSample(view, start, end, layout, littleEndian, scratchFields);
    if (sample !== null) return { type, misc, sample, tail: bytesBetween(view, scratchFields.end, end) };
  }
  const read = READERS.get(type);
  if (read === undefined) return rawRecord(view, start, end, type, misc);
  const trailer = trailerSize(type, size, layout);
  scratchReader.reset(view, start, start + RECORD_HEADER_SIZE, end - trailer, littleEndian);
  const record = read(scratchReader, misc);
  if (scratchReader.missing > 0) record.shortBy = scratchReader.missing;
  if (trailer > 0) record.sampleId = decodeSampleId(view, end - trailer, layout!, littleEndian);
  return record;
}

/** Size of the sample id trailer of a record: none on user records, samples, and records too short for it. */
export function trailerSize(type: number, size: number, layout: SampleLayout | null): number {
  if (layout === null || type >= PERF_RECORD_USER_TYPE_START || type === PERF_RECORD_SAMPLE) return 0;
  return layout.trailerSize + RECORD_HEADER_SIZE <= size ? layout.trailerSize : 0;
}

function rawRecord(view: DataView, start: number, end: number, type: number, misc: number): RawRecord {
  const body = bytesBetween(view, start + RECORD_HEADER_SIZE, end);
  return { raw: true, type, misc, body, tail: new Uint8Array() };
}

function bytesBetween(view: DataView, from: number, to: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + from, to - from).slice();
}

/** Decode a trailer that starts at `at` and is complete. */
export function decodeSampleId(view: DataView, at: number, layout: SampleLayout, le: boolean): SampleId {
  const bits = layout.sampleType;
  let pos = at;
  const next = () => {
    const first = view.getUint32(pos, le);
    const second = view.getUint32(pos + 4, le);
    pos += 8;
    return le ? toBigInt(first, second) : toBigInt(second, first);
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

/**
 * Append `record` to `writer`, header, body and trailer. A record without `sampleId` gets zeros where the
 * layout has a trailer: readers take the end of the record for one. Throws RangeError beyond 65,535 bytes.
 */
export function encodeRecord(writer: BodyWriter, record: PerfRecord, layout: SampleLayout | null): void {
  writer.beginRecord(record.type, record.misc);
  if (isRaw(record)) writer.rest(record.body);
  else if (isSample(record)) {
    if (layout === null) throw new TypeError('a sample can only be encoded with the layout of its attr');
    encodeSample(writer, record.sample, layout);
    writer.rest(record.tail);
  } else {
    const write = WRITERS.get(record.type) as (writer: BodyWriter, record: TableRecord) => void;
    write(writer, record);
    if (record.shortBy !== undefined) writer.dropZeros(record.shortBy);
    const hasTrailer = layout !== null && record.type < PERF_RECORD_USER_TYPE_START;
    if (hasTrailer) encodeSampleId(writer, record.sampleId ?? {}, layout);
  }
  writer.endRecord();
}

export function isRaw(record: PerfRecord): record is RawRecord {
  return 'raw' in record && record.raw === true;
}

export function isSample(record: PerfRecord): record is SampleRecord {
  return 'sample' in record;
}
