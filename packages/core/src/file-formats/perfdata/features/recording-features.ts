import type { FeatureRead, FeatureWriter } from './feature-codec.ts';

export const readSampleTime: FeatureRead = (reader, into) => {
  const sampleTime = { first: reader.u64(), last: reader.u64() };
  if (!reader.damaged) into.sampleTime = sampleTime;
};

export const sampleTimeWriter: FeatureWriter = {
  fields: ['sampleTime'],
  write(writer, features) {
    if (features.sampleTime === undefined) return false;
    writer.u64(features.sampleTime.first);
    writer.u64(features.sampleTime.last);
    return true;
  },
};

/** CLOCK_DATA: version, clock id, then the same moment on the wall clock and on that clock. */
export const readClockData: FeatureRead = (reader, into) => {
  const clockData = {
    version: reader.u32(),
    clockId: reader.u32() | 0,
    wallClockNs: reader.u64(),
    clockIdTimeNs: reader.u64(),
  };
  if (!reader.damaged) into.clockData = clockData;
};

export const clockDataWriter: FeatureWriter = {
  fields: ['clockData'],
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

export const readCompressed: FeatureRead = (reader, into) => {
  const compressed = {
    version: reader.u32(),
    type: reader.u32(),
    level: reader.u32(),
    ratio: reader.u32(),
    mmapLength: reader.u32(),
  };
  if (!reader.damaged) into.compressed = compressed;
};

export const compressedWriter: FeatureWriter = {
  fields: ['compressed'],
  write(writer, features) {
    const facts = features.compressed;
    if (facts === undefined) return false;
    for (const value of [facts.version, facts.type, facts.level, facts.ratio, facts.mmapLength])
      writer.u32(value);
    return true;
  },
};

/** AUXTRACE: a u64 count, then where each AUXTRACE record is. */
export const readAuxIndex: FeatureRead = (reader, into) => {
  const count = Number(reader.u64());
  into.auxIndex = reader.items(count, 16, () => ({ offset: reader.u64(), size: reader.u64() }));
};

export const auxIndexWriter: FeatureWriter = {
  fields: ['auxIndex'],
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
