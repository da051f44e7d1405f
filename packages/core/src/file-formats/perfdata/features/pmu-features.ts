import type { BodyWriter } from '../../../format/records/index.ts';
import { type FeatureRead, type FeatureWriter, writeString } from './feature-codec.ts';
import type { FeatureReader } from './feature-reader.ts';
import type { PmuCapability } from './perf-data-features.ts';

/** PMU_MAPPINGS: the kernel's event sources by `attr.type`. */
export const readPmuMappings: FeatureRead = (reader, into) => {
  into.pmuMappings = reader.list(8, () => ({ type: reader.u32(), name: reader.string() }));
};

export const pmuMappingsWriter: FeatureWriter = {
  fields: ['pmuMappings'],
  write(writer, features) {
    if (features.pmuMappings === undefined) return false;
    writer.u32(features.pmuMappings.length);
    for (const { type, name } of features.pmuMappings) {
      writer.u32(type);
      writeString(writer, name);
    }
    return true;
  },
};

/** CPU_PMU_CAPS: capabilities of the one core PMU. */
export const readCpuPmuCaps: FeatureRead = (reader, into) => {
  into.cpuPmuCaps = readCapabilities(reader);
};

export const cpuPmuCapsWriter: FeatureWriter = {
  fields: ['cpuPmuCaps'],
  write(writer, features) {
    if (features.cpuPmuCaps === undefined) return false;
    writeCapabilities(writer, features.cpuPmuCaps);
    return true;
  },
};

/** PMU_CAPS: the same for each other PMU that has any, its name after its capabilities. */
export const readPmuCaps: FeatureRead = (reader, into) => {
  into.pmuCaps = reader.list(8, () => {
    const capabilities = readCapabilities(reader);
    return { pmu: reader.string(), capabilities };
  });
};

export const pmuCapsWriter: FeatureWriter = {
  fields: ['pmuCaps'],
  write(writer, features) {
    if (features.pmuCaps === undefined) return false;
    writer.u32(features.pmuCaps.length);
    for (const { pmu, capabilities } of features.pmuCaps) {
      writeCapabilities(writer, capabilities);
      writeString(writer, pmu);
    }
    return true;
  },
};

function readCapabilities(reader: FeatureReader): PmuCapability[] {
  return reader.list(8, () => ({ name: reader.string(), value: reader.string() }));
}

function writeCapabilities(writer: BodyWriter, capabilities: readonly PmuCapability[]): void {
  writer.u32(capabilities.length);
  for (const { name, value } of capabilities) {
    writeString(writer, name);
    writeString(writer, value);
  }
}
