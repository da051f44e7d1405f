import { realSys } from '../sys/index.ts';
import { readProc } from './proc.ts';

/** USER_HZ, the unit of times in /proc on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
const CLOCK_BOOTTIME = 7;
/** Field 22 of /proc/PID/stat, behind the name in brackets, which may hold blanks and brackets. */
const FIELD_OF_START = 22 - 3;

/**
 * When a process began, in milliseconds since 1970; null where it is gone. It is a tick early rather than
 * late. The clock is that of the kernel and not /proc/uptime: in containers that file may be an invention.
 */
export function processStartMs(pid: number): number | null {
  const nowMs = Date.now();
  const ticks = Number(readProc(`${pid}/stat`)?.split(') ').pop()?.split(' ')[FIELD_OF_START] ?? Number.NaN);
  if (Number.isNaN(ticks)) return null;
  const sinceBootMs = Number(realSys.clockNs(CLOCK_BOOTTIME)) / 1e6;
  return nowMs - (sinceBootMs - (ticks / TICKS_PER_SECOND) * 1000);
}
