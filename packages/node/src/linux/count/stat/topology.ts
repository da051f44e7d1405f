import { readdirSync, readFileSync } from 'node:fs';
import { parseCpus } from '@counterpoint/core/events';
import type { PerfDataFeatures } from '@counterpoint/core/perfdata';

/** Where a CPU sits. */
export interface CpuPlace {
  /** The number of the CPU. */
  cpu: number;
  /** The number of its core in the die; 0 where the machine does not say. */
  core: number;
  /** The number of its die in the socket; 0 where the machine does not say. */
  die: number;
  /** The number of its socket; 0 where the machine does not say. */
  socket: number;
  /** The number of its NUMA node; 0 where the machine does not say. */
  node: number;
}

/** From sysfs; a level that a machine does not tell is 0, as in perf. */
export function cpuPlace(cpu: number, root = '/sys/devices/system/cpu'): CpuPlace {
  const read = (name: string) => {
    try {
      return Math.max(0, Number(readFileSync(`${root}/cpu${cpu}/topology/${name}`, 'utf8')) || 0);
    } catch {
      return 0;
    }
  };
  return {
    cpu,
    core: read('core_id'),
    die: read('die_id'),
    socket: read('physical_package_id'),
    node: nodeOf(`${root}/cpu${cpu}`),
  };
}

/** The same from what a recording says of its machine; what it does not say is 0. */
export function recordedCpuPlace({
  cpuTopology,
  numaTopology,
}: Pick<PerfDataFeatures, 'cpuTopology' | 'numaTopology'>): (cpu: number) => CpuPlace {
  const nodes = new Map<number, number>();
  for (const { node, cpus } of numaTopology ?? [])
    for (const cpu of parseCpus(cpus) ?? []) nodes.set(cpu, node);
  const places = cpuTopology?.cpus ?? [];
  return (cpu) => ({
    cpu,
    core: Math.max(0, places[cpu]?.coreId ?? 0),
    die: Math.max(0, places[cpu]?.dieId ?? 0),
    socket: Math.max(0, places[cpu]?.packageId ?? 0),
    node: nodes.get(cpu) ?? 0,
  });
}

function nodeOf(folder: string): number {
  try {
    const name = readdirSync(folder).find((entry) => /^node\d+$/.test(entry));
    return name === undefined ? 0 : Number(name.slice('node'.length));
  } catch {
    return 0;
  }
}
