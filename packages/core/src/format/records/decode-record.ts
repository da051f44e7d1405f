import { PERF_RECORD_SAMPLE, PERF_RECORD_USER_TYPE_START, RECORD_HEADER_SIZE } from '../abi/index.ts';
import type { BodyWriter } from './body-writer.ts';
import { decodeRecordAs } from './decode-record-as.ts';
import { encodeSample, encodeSampleId } from './encode-sample.ts';
import { READERS, type TableRecord, WRITERS } from './generated/records.ts';
import type { PerfRecord, RawRecord, SampleRecord } from './record.ts';
import { decodeSample } from './sample.ts';
import { SampleFields } from './sample-fields.ts';
import type { SampleLayout } from './sample-layout.ts';

const scratchFields = /* @__PURE__ */ new SampleFields();

/**
 * The record at `[start, start + size)` as an owned value. `layout` is the layout of its event's attr.
 * Without one (null), samples stay raw and trailers stay in `tail`. Records of unknown types stay raw.
 * Damaged bytes never make it throw. `size` must be at least 8, and inside the view.
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
  return decodeRecordAs(read, view, start, size, layout, littleEndian);
}

function rawRecord(view: DataView, start: number, end: number, type: number, misc: number): RawRecord {
  const body = bytesBetween(view, start + RECORD_HEADER_SIZE, end);
  return { raw: true, type, misc, body, tail: new Uint8Array() };
}

function bytesBetween(view: DataView, from: number, to: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + from, to - from).slice();
}

/**
 * Append `record` to `writer`: header, body and trailer. If the layout has a trailer and the record has no
 * `sampleId`, the trailer is zeros, because readers take the end of the record for a trailer. Throws
 * RangeError if the record is longer than 65,535 bytes.
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

/** Whether the record stayed raw: its type is unknown, or it is a sample that does not fit its layout. */
export function isRaw(record: PerfRecord): record is RawRecord {
  return 'raw' in record && record.raw === true;
}

/** Whether the record is a decoded sample; a sample without a layout is raw. */
export function isSample(record: PerfRecord): record is SampleRecord {
  return 'sample' in record;
}
