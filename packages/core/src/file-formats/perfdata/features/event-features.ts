import { PERF_ATTR_SIZE_VER0 } from '../../../format/abi/index.ts';
import { encodeAttrShortest, readAttr } from '../../../format/records/index.ts';
import { type FeatureRead, type FeatureWriter, writeString } from './feature-codec.ts';
import type { EventDescription } from './perf-data-features.ts';

/**
 * EVENT_DESC: each event's attr again, with its ids and its name.
 *
 *   | count u32 | attr size u32 | then per event: attr | id count u32 | name: string | ids u64... |
 */
export const readEventDescriptions: FeatureRead = (reader, into) => {
  const count = reader.u32();
  const attrSize = reader.u32();
  if (count > 0 && attrSize < PERF_ATTR_SIZE_VER0) {
    reader.damaged = true;
    return;
  }
  const events: EventDescription[] = [];
  for (let i = 0; i < count; i++) {
    const at = reader.skip(attrSize);
    if (at < 0) break;
    const attr = readAttr(reader.view, at, attrSize, reader.littleEndian);
    const idCount = reader.u32();
    const name = reader.string();
    events.push({ attr, name, ids: reader.items(idCount, 8, () => reader.u64()) });
    if (reader.damaged) break;
  }
  into.eventDescriptions = events;
};

export const eventDescriptionsWriter: FeatureWriter = {
  fields: ['eventDescriptions'],
  write(writer, features) {
    const events = features.eventDescriptions;
    if (events === undefined) return false;
    const le = writer.littleEndian;
    const size = events.reduce((most, { attr }) => Math.max(most, encodeAttrShortest(attr, le).length), 0);
    writer.u32(events.length);
    writer.u32(size);
    for (const { attr, name, ids } of events) {
      writer.bytes(encodeAttrShortest(attr, le, size), size);
      writer.u32(ids.length);
      writeString(writer, name);
      for (const id of ids) writer.u64(id);
    }
    return true;
  },
};

/** GROUP_DESC: groups of more than one event. */
export const readGroups: FeatureRead = (reader, into) => {
  into.groups = reader.list(12, () => ({
    name: reader.string(),
    leaderIndex: reader.u32(),
    memberCount: reader.u32(),
  }));
};

export const groupsWriter: FeatureWriter = {
  fields: ['groups'],
  write(writer, features) {
    if (features.groups === undefined) return false;
    writer.u32(features.groups.length);
    for (const group of features.groups) {
      writeString(writer, group.name);
      writer.u32(group.leaderIndex);
      writer.u32(group.memberCount);
    }
    return true;
  },
};
