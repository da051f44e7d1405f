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

/**
 * Where the program's code, stack, words and environment are. An exec changes them;
 * a process may write new words.
 */
const FIELD_OF_STACK = 25;
const FIELDS_OF_IMAGE = [23, 24, FIELD_OF_STACK, 45, 46, 47, 48];

/**
 * Tells two programs apart that one process runs one after the other. Null where it has ended, also where
 * nobody has waited for it yet, and where this process may not know. Source: proc_pid_stat(5).
 */
export function processImage(pid: number): string | null {
  const fields = readProc(`${pid}/stat`)?.split(') ').pop()?.split(' ');
  // Without memory, or the right to know of it, there is no stack.
  if (fields === undefined || fields[FIELD_OF_STACK] === '0') return null;
  return FIELDS_OF_IMAGE.map((at) => fields[at]).join(' ');
}
