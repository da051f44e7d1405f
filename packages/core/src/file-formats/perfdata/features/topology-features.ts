import { type FeatureRead, type FeatureWriter, writeString, writeStrings } from './feature-codec.ts';
import type { CpuTopology } from './perf-data-features.ts';

/**
 * CPU_TOPOLOGY grew at its end, and the section's size tells how far it goes:
 *
 *   | packages: strings | cores: strings |                              up to perf 4.3
 *   | per CPU: core id, package id       |                              from 4.4
 *   | dies: strings | per CPU: die id    |                              from 5.3, where sysfs tells of dies
 *
 * The number of CPUs is that of NRCPUS, which stands before it.
 */
export const readCpuTopology: FeatureRead = (reader, into) => {
  const topology: CpuTopology = { packages: reader.strings(), cores: reader.strings() };
  into.cpuTopology = topology;
  if (reader.damaged || reader.left === 0) return;

  const fitting = Math.floor(reader.left / 8);
  const known = into.cpusAvailable ?? fitting;
  const count = Math.min(known, fitting);
  if (known > fitting) reader.damaged = true;
  topology.cpus = Array.from({ length: count }, () => ({ coreId: reader.u32(), packageId: reader.u32() }));
  if (reader.damaged || reader.left === 0) return;

  topology.dies = reader.strings();
  for (const cpu of topology.cpus) {
    const dieId = reader.u32();
    if (reader.damaged) return;
    Object.assign(cpu, { dieId });
  }
};

export const cpuTopologyWriter: FeatureWriter = {
  fields: ['cpuTopology'],
  write(writer, features) {
    const topology = features.cpuTopology;
    if (topology === undefined) return false;
    writeStrings(writer, topology.packages);
    writeStrings(writer, topology.cores);
    if (topology.cpus === undefined) return true;
    for (const cpu of topology.cpus) {
      writer.u32(cpu.coreId);
      writer.u32(cpu.packageId);
    }
    if (topology.dies === undefined) return true;
    writeStrings(writer, topology.dies);
    for (const cpu of topology.cpus) writer.u32(cpu.dieId ?? 0);
    return true;
  },
};

export const readNumaTopology: FeatureRead = (reader, into) => {
  into.numaTopology = reader.list(24, () => ({
    node: reader.u32(),
    totalKb: reader.u64(),
    freeKb: reader.u64(),
    cpus: reader.string(),
  }));
};

export const numaTopologyWriter: FeatureWriter = {
  fields: ['numaTopology'],
  write(writer, features) {
    if (features.numaTopology === undefined) return false;
    writer.u32(features.numaTopology.length);
    for (const node of features.numaTopology) {
      writer.u32(node.node);
      writer.u64(node.totalKb);
      writer.u64(node.freeKb);
      writeString(writer, node.cpus);
    }
    return true;
  },
};

/** HYBRID_TOPOLOGY: which CPUs each core PMU counts on. */
export const readHybridTopology: FeatureRead = (reader, into) => {
  into.hybridTopology = reader.list(8, () => ({ pmu: reader.string(), cpus: reader.string() }));
};

export const hybridTopologyWriter: FeatureWriter = {
  fields: ['hybridTopology'],
  write(writer, features) {
    if (features.hybridTopology === undefined) return false;
    writer.u32(features.hybridTopology.length);
    for (const { pmu, cpus } of features.hybridTopology) {
      writeString(writer, pmu);
      writeString(writer, cpus);
    }
    return true;
  },
};

const CACHE_VERSION = 1;

/** CACHE: version, then a list in the words of sysfs. */
export const readCaches: FeatureRead = (reader, into) => {
  if (reader.u32() !== CACHE_VERSION) {
    reader.damaged = true;
    return;
  }
  into.caches = reader.list(28, () => ({
    level: reader.u32(),
    lineSize: reader.u32(),
    sets: reader.u32(),
    ways: reader.u32(),
    type: reader.string(),
    size: reader.string(),
    cpus: reader.string(),
  }));
};

export const cachesWriter: FeatureWriter = {
  fields: ['caches'],
  write(writer, features) {
    if (features.caches === undefined) return false;
    writer.u32(CACHE_VERSION);
    writer.u32(features.caches.length);
    for (const cache of features.caches) {
      for (const value of [cache.level, cache.lineSize, cache.sets, cache.ways]) writer.u32(value);
      for (const text of [cache.type, cache.size, cache.cpus]) writeString(writer, text);
    }
    return true;
  },
};

const MEMORY_VERSION = 1n;

/**
 * MEM_TOPOLOGY: version, block size, then per node a bitmap of its memory blocks.
 * The bitmap's size stands twice.
 */
export const readMemoryTopology: FeatureRead = (reader, into) => {
  if (reader.u64() !== MEMORY_VERSION) {
    reader.damaged = true;
    return;
  }
  const blockSizeBytes = reader.u64();
  const count = Number(reader.u64());
  const nodes = reader.items(count, 24, () => {
    const node = reader.u64();
    reader.u64();
    const bitCount = reader.u64();
    const words = reader.items(Math.ceil(Number(bitCount) / 64), 8, () => reader.u64());
    return { node, bitCount, words };
  });
  into.memoryTopology = { blockSizeBytes, nodes };
};

export const memoryTopologyWriter: FeatureWriter = {
  fields: ['memoryTopology'],
  write(writer, features) {
    const topology = features.memoryTopology;
    if (topology === undefined) return false;
    writer.u64(MEMORY_VERSION);
    writer.u64(topology.blockSizeBytes);
    writer.u64(BigInt(topology.nodes.length));
    for (const { node, bitCount, words } of topology.nodes) {
      writer.u64(node);
      writer.u64(bitCount);
      writer.u64(bitCount);
      for (const word of words) writer.u64(word);
    }
    return true;
  },
};
