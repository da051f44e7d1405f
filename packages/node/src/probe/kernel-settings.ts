import { readFileSync } from 'node:fs';

/** The text of a small file of the kernel, trimmed; null where it is absent or forbidden. */
export function readKernelFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** A number in /proc/sys/kernel, or null. */
export function kernelSetting(name: string): number | null {
  const text = readKernelFile(`/proc/sys/kernel/${name}`);
  return text === null || text === '' ? null : Number(text);
}

/**
 * kernel.perf_event_paranoid: what users without CAP_PERFMON may do. -1 everything, 0 whole CPUs, 1 the kernel's own
 * code, 2 only their own code in user space; Debian's 3 and Ubuntu's 4: nothing. Null: this kernel has no perf events.
 */
export function paranoidLevel(): number | null {
  return kernelSetting('perf_event_paranoid');
}

/** linux/capability.h */
export const CAP_SYS_ADMIN = 21;
export const CAP_SYSLOG = 34;
export const CAP_PERFMON = 38;

/** Whether perf events are unrestricted: CAP_PERFMON, or before Linux 5.8 CAP_SYS_ADMIN, which still implies it. */
export function canMonitorAll(capabilities: bigint): boolean {
  return (
    ((capabilities >> BigInt(CAP_PERFMON)) & 1n) !== 0n ||
    ((capabilities >> BigInt(CAP_SYS_ADMIN)) & 1n) !== 0n
  );
}
