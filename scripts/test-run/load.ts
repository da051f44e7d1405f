/** How busy the machine is: told beside what failed at first and passed later. */
import { readFileSync } from 'node:fs';

export interface Load {
  /** Mean number of processes that ran or wanted to, of the last minute. */
  loadAverage: number | null;
  /**
   * Share of the last 10 s in which somebody waited for a CPU, in percent; null: the kernel does not tell.
   */
  cpuPressurePercent: number | null;
}

/** From /proc/loadavg and /proc/pressure/cpu. */
export function loadNow(): Load {
  return {
    loadAverage: numberIn('/proc/loadavg', /^([\d.]+)/),
    cpuPressurePercent: numberIn('/proc/pressure/cpu', /^some avg10=([\d.]+)/),
  };
}

function numberIn(path: string, pattern: RegExp): number | null {
  try {
    const found = pattern.exec(readFileSync(path, 'utf8'));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}

export function loadText({ loadAverage, cpuPressurePercent }: Load): string {
  const parts = [
    loadAverage === null ? [] : [`load ${loadAverage}`],
    cpuPressurePercent === null ? [] : [`somebody waited for a CPU in ${cpuPressurePercent} % of 10 s`],
  ].flat();
  return parts.length === 0 ? 'the load is not known' : parts.join(', ');
}
