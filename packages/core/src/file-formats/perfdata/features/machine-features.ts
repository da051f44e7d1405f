import { type FeatureRead, type FeatureWriter, writeStrings } from './feature-codec.ts';

/**
 * NRCPUS: two u32. perf writes the present CPUs first and reads them so; its format description
 * has them the other way round.
 */
export const readCpuCounts: FeatureRead = (reader, into) => {
  const available = reader.u32();
  if (!reader.damaged) into.cpusAvailable = available;
  const online = reader.u32();
  if (!reader.damaged) into.cpusOnline = online;
};

export const cpuCountsWriter: FeatureWriter = {
  fields: ['cpusAvailable', 'cpusOnline'],
  write(writer, features) {
    if (features.cpusAvailable === undefined && features.cpusOnline === undefined) return false;
    writer.u32(features.cpusAvailable ?? features.cpusOnline ?? 0);
    writer.u32(features.cpusOnline ?? features.cpusAvailable ?? 0);
    return true;
  },
};

/** CMDLINE: the recorder's program, then its arguments. */
export const readCommandLine: FeatureRead = (reader, into) => {
  into.commandLine = reader.strings();
};

export const commandLineWriter: FeatureWriter = {
  fields: ['commandLine'],
  write(writer, features) {
    if (features.commandLine === undefined) return false;
    writeStrings(writer, features.commandLine);
    return true;
  },
};

/** E_MACHINE: two u32. */
export const readElfMachine: FeatureRead = (reader, into) => {
  const elfMachine = { machine: reader.u32(), flags: reader.u32() };
  if (!reader.damaged) into.elfMachine = elfMachine;
};

export const elfMachineWriter: FeatureWriter = {
  fields: ['elfMachine'],
  write(writer, features) {
    if (features.elfMachine === undefined) return false;
    writer.u32(features.elfMachine.machine);
    writer.u32(features.elfMachine.flags);
    return true;
  },
};

/** CLN_SIZE: one u32. */
export const readCacheLineSize: FeatureRead = (reader, into) => {
  const size = reader.u32();
  if (!reader.damaged) into.cacheLineSize = size;
};

export const cacheLineSizeWriter: FeatureWriter = {
  fields: ['cacheLineSize'],
  write(writer, features) {
    if (features.cacheLineSize === undefined) return false;
    writer.u32(features.cacheLineSize);
    return true;
  },
};
