import { BodyWriter, encodeAttrShortest, readAttr } from '../../format/records/index.ts';
import type { EventTable, WrittenEvent } from '../perfdata/index.ts';

/**
 * The attrs of page 0, one behind the other: `attr size | ids | attr | ids`, in
 * the byte order of the records.
 */
export function encodeEventAttrs(
  events: readonly WrittenEvent[],
  littleEndian: boolean,
): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(littleEndian, 1024);
  for (const { attr, ids } of events) {
    const bytes = encodeAttrShortest(attr, littleEndian);
    writer.u32(bytes.length);
    writer.u32(ids.length);
    writer.rest(bytes);
    for (const id of ids) writer.u64(id);
  }
  return writer.take();
}

/** Into a table; false where they end too early. Names are in the sideband. */
export function decodeEventAttrs(
  bytes: Uint8Array,
  count: number,
  littleEndian: boolean,
  table: EventTable,
): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (let event = 0; event < count; event++) {
    if (at + 8 > bytes.length) return false;
    const size = view.getUint32(at, littleEndian);
    const idCount = view.getUint32(at + 4, littleEndian);
    at += 8;
    const idsAt = at + size;
    if (size < 64 || idsAt + idCount * 8 > bytes.length) return false;
    const ids = Array.from({ length: idCount }, (_, id) =>
      Number(view.getBigUint64(idsAt + id * 8, littleEndian)),
    );
    table.add(readAttr(view, at, size, littleEndian), ids, '');
    at = idsAt + idCount * 8;
  }
  return true;
}
