import { readdirSync } from 'node:fs';
import { hostname, machine, release } from 'node:os';
import { optional } from '@counterpoint/core/base';
import type {
  CacheLevel,
  CpuTopology,
  NumaNode,
  PerfDataFeatures,
  PmuCapability,
  PmuMapping,
} from '@counterpoint/core/perfdata';
import { readKernelFile } from '../../kernel/probe/index.ts';
import { onlineCpus, parseCpuList } from '../../kernel/target/index.ts';

/**
 * What a recording says about its machine, from /proc and /sys, in perf's terms.
 * What is not there is left out.
 */
export function machineFeatures(): Partial<PerfDataFeatures> {
  const cpus = onlineCpus();
  const cpuInfo = parseCpuInfo(readKernelFile('/proc/cpuinfo') ?? '');
  const memoryKb = /^MemTotal:\s*(\d+)/m.exec(readKernelFile('/proc/meminfo') ?? '')?.[1];
  return optional({
    hostname: hostname(),
    osRelease: release(),
    arch: machine(),
    cpusOnline: cpus.length,
    cpusAvailable:
      parseCpuList(readKernelFile('/sys/devices/system/cpu/present') ?? '').length || cpus.length,
    cpuDescription: cpuInfo['model name'],
    cpuId: cpuId(cpuInfo),
    totalMemoryKb: memoryKb === undefined ? undefined : BigInt(memoryKb),
    cpuTopology: cpuTopology(cpus),
    numaTopology: numaTopology(),
    pmuMappings: pmuMappings(),
    caches: caches(cpus),
    memoryTopology: memoryTopology(),
    ...pmuCapabilities(),
  });
}

/** Names in a directory of sysfs; none where it is not there. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Numbers N of entries `PREFIXN`, ascending. */
function numbered(directory: string, prefix: string): number[] {
  return namesIn(directory)
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

/** Fields of the first CPU. */
function parseCpuInfo(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of text.split('\n\n', 1)[0]!.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return fields;
}

/** x86: `GenuineIntel,6,85,7`; arm64: the main id register, `0x00000000410fd0c0`. */
function cpuId(info: Record<string, string>): string | undefined {
  const midr = readKernelFile('/sys/devices/system/cpu/cpu0/regs/identification/midr_el1');
  if (midr !== null) return midr;
  const parts = [info['vendor_id'], info['cpu family'], info['model'], info['stepping']];
  return parts.every((part) => part !== undefined) ? parts.join(',') : undefined;
}

function cpuTopology(cpus: readonly number[]): CpuTopology | undefined {
  const packages = new Set<string>();
  const cores = new Set<string>();
  const dies = new Set<string>();
  const ids: NonNullable<CpuTopology['cpus']> = [];
  for (const cpu of cpus) {
    const read = (...names: string[]) => {
      for (const name of names) {
        const text = readKernelFile(`/sys/devices/system/cpu/cpu${cpu}/topology/${name}`);
        if (text !== null) return text;
      }
      return null;
    };
    const packageCpus = read('package_cpus_list', 'core_siblings_list');
    const coreCpus = read('core_cpus_list', 'thread_siblings_list');
    const dieCpus = read('die_cpus_list');
    if (packageCpus === null || coreCpus === null) return undefined;
    packages.add(packageCpus);
    cores.add(coreCpus);
    if (dieCpus !== null) dies.add(dieCpus);
    ids[cpu] = {
      coreId: Number(read('core_id') ?? 0),
      packageId: Number(read('physical_package_id') ?? 0),
      ...(dieCpus === null ? {} : { dieId: Number(read('die_id') ?? 0) }),
    };
  }
  // perf has an entry for every CPU that may exist.
  const filled = Array.from(ids, (one) => one ?? { coreId: -1, packageId: -1 });
  const topology: CpuTopology = { packages: [...packages], cores: [...cores], cpus: filled };
  if (dies.size > 0) topology.dies = [...dies];
  return topology;
}

function numaTopology(): NumaNode[] | undefined {
  const root = '/sys/devices/system/node';
  const nodes = numbered(root, 'node').map((node): NumaNode => {
    const info = readKernelFile(`${root}/node${node}/meminfo`) ?? '';
    const kb = (name: string) => BigInt(new RegExp(`${name}:\\s*(\\d+)`).exec(info)?.[1] ?? 0);
    const cpus = readKernelFile(`${root}/node${node}/cpulist`) ?? '';
    return { node, totalKb: kb('MemTotal'), freeKb: kb('MemFree'), cpus };
  });
  return nodes.length === 0 ? undefined : nodes;
}

const PMUS = '/sys/bus/event_source/devices';

function pmuMappings(): PmuMapping[] | undefined {
  const mappings: PmuMapping[] = [];
  for (const name of namesIn(PMUS)) {
    const type = readKernelFile(`${PMUS}/${name}/type`);
    if (type !== null) mappings.push({ type: Number(type), name });
  }
  return mappings.length === 0 ? undefined : mappings;
}

function pmuCapabilities(): Pick<Partial<PerfDataFeatures>, 'cpuPmuCaps' | 'pmuCaps'> {
  const capabilities = (pmu: string): PmuCapability[] =>
    namesIn(`${PMUS}/${pmu}/caps`)
      .sort()
      .map((name) => ({ name, value: readKernelFile(`${PMUS}/${pmu}/caps/${name}`) ?? '' }));
  const found: Pick<Partial<PerfDataFeatures>, 'cpuPmuCaps' | 'pmuCaps'> = {};
  const core = capabilities('cpu');
  if (core.length > 0) found.cpuPmuCaps = core;
  const others = namesIn(PMUS)
    .filter((pmu) => pmu !== 'cpu')
    .map((pmu) => ({ pmu, capabilities: capabilities(pmu) }))
    .filter((one) => one.capabilities.length > 0);
  found.pmuCaps = others;
  return found;
}

/** Each cache once, however many CPUs share it. */
function caches(cpus: readonly number[]): CacheLevel[] | undefined {
  const found = new Map<string, CacheLevel>();
  for (const cpu of cpus) {
    const root = `/sys/devices/system/cpu/cpu${cpu}/cache`;
    for (const index of numbered(root, 'index')) {
      const read = (name: string) => readKernelFile(`${root}/index${index}/${name}`) ?? '';
      const cache: CacheLevel = {
        level: Number(read('level')),
        lineSize: Number(read('coherency_line_size')),
        sets: Number(read('number_of_sets')),
        ways: Number(read('ways_of_associativity')),
        type: read('type'),
        size: read('size'),
        cpus: read('shared_cpu_list'),
      };
      const key = `${cache.level} ${cache.type} ${cache.cpus}`;
      if (!found.has(key)) found.set(key, cache);
    }
  }
  return found.size === 0 ? undefined : [...found.values()].sort((a, b) => a.level - b.level);
}

/** Which blocks of memory belong to which node: a bit per block. */
function memoryTopology(): PerfDataFeatures['memoryTopology'] {
  const blockSize = readKernelFile('/sys/devices/system/memory/block_size_bytes');
  if (blockSize === null) return undefined;
  const root = '/sys/devices/system/node';
  const nodes = numbered(root, 'node').flatMap((node) => {
    const blocks = numbered(`${root}/node${node}`, 'memory');
    if (blocks.length === 0) return [];
    const bitCount = blocks[blocks.length - 1]! + 1;
    const words = new Array<bigint>(Math.ceil(bitCount / 64)).fill(0n);
    for (const block of blocks) words[block >> 6]! |= 1n << BigInt(block & 63);
    return [{ node: BigInt(node), bitCount: BigInt(bitCount), words }];
  });
  return nodes.length === 0 ? undefined : { blockSizeBytes: BigInt(`0x${blockSize}`), nodes };
}
