import {
  BodyWriter,
  encodeRecord,
  isSample,
  type PerfRecord,
  SampleLayout,
} from '../../../format/records/index.ts';
import type { WrittenEvent } from './written-event.ts';

/**
 * A record, or bytes that go in as they are (what follows an AUXTRACE record, or
 * records that are encoded already).
 */
export type RecordOrBytes = PerfRecord | Uint8Array;

/** The layout of a record, by the event it belongs to. */
export type LayoutOf = (record: PerfRecord) => SampleLayout | null;

/** Records one after the other, as the data section has them. One layout for all, or one by record. */
export function encodeRecords(
  records: Iterable<RecordOrBytes>,
  layout: SampleLayout | null | LayoutOf,
  littleEndian = true,
): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(littleEndian, 4096);
  for (const record of records) {
    if (record instanceof Uint8Array) writer.rest(record);
    else encodeRecord(writer, record, typeof layout === 'function' ? layout(record) : layout);
  }
  return writer.take();
}

/** Finds a record's layout by its id among the events' ids; the first event's where it has none. */
export function layoutByEvent(events: readonly WrittenEvent[]): LayoutOf {
  const byId = new Map<bigint, SampleLayout>();
  const layouts = events.map(({ attr }) => new SampleLayout(attr));
  events.forEach(({ ids }, place) => {
    for (const id of ids) byId.set(id, layouts[place]!);
  });
  return (record) => {
    const id = isSample(record) ? (record.sample.identifier ?? record.sample.id) : record.sampleId?.id;
    return (id === undefined ? undefined : byId.get(id)) ?? layouts[0] ?? null;
  };
}
