import { readdirSync, readFileSync } from 'node:fs';

/** Where a CPU sits. */
export interface CpuPlace {
  cpu: number;
  core: number;
  die: number;
  socket: number;
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

function nodeOf(folder: string): number {
  try {
    const name = readdirSync(folder).find((entry) => /^node\d+$/.test(entry));
    return name === undefined ? 0 : Number(name.slice('node'.length));
  } catch {
    return 0;
  }
}
