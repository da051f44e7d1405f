import type { FeatureCodec } from './feature-codec.ts';

export const sampleTime: FeatureCodec = {
  fields: ['sampleTime'],
  read(reader, into) {
    const first = reader.u64();
    const last = reader.u64();
    if (!reader.damaged) into.sampleTime = { first, last };
  },
  write(writer, features) {
    if (features.sampleTime === undefined) return false;
    writer.u64(features.sampleTime.first);
    writer.u64(features.sampleTime.last);
    return true;
  },
};

/** CLOCK_DATA: version, clock id, then the same moment on the wall clock and on that clock. */
export const clockData: FeatureCodec = {
  fields: ['clockData'],
  read(reader, into) {
    const version = reader.u32();
    const clockId = reader.u32() | 0;
    const wallClockNs = reader.u64();
    const clockIdTimeNs = reader.u64();
    if (!reader.damaged) into.clockData = { version, clockId, wallClockNs, clockIdTimeNs };
  },
  write(writer, features) {
    const clock = features.clockData;
    if (clock === undefined) return false;
    writer.u32(clock.version);
    writer.i32(clock.clockId);
    writer.u64(clock.wallClockNs);
    writer.u64(clock.clockIdTimeNs);
    return true;
  },
};

export const compressed: FeatureCodec = {
  fields: ['compressed'],
  read(reader, into) {
    const version = reader.u32();
    const type = reader.u32();
    const level = reader.u32();
    const ratio = reader.u32();
    const mmapLength = reader.u32();
    if (!reader.damaged) into.compressed = { version, type, level, ratio, mmapLength };
  },
  write(writer, features) {
    const facts = features.compressed;
    if (facts === undefined) return false;
    for (const value of [facts.version, facts.type, facts.level, facts.ratio, facts.mmapLength])
      writer.u32(value);
    return true;
  },
};

/** AUXTRACE: a u64 count, then where each AUXTRACE record is. */
export const auxIndex: FeatureCodec = {
  fields: ['auxIndex'],
  read(reader, into) {
    const count = Number(reader.u64());
    into.auxIndex = reader.items(count, 16, () => ({ offset: reader.u64(), size: reader.u64() }));
  },
  write(writer, features) {
    if (features.auxIndex === undefined) return false;
    writer.u64(BigInt(features.auxIndex.length));
    for (const { offset, size } of features.auxIndex) {
      writer.u64(offset);
      writer.u64(size);
    }
    return true;
  },
};
