import { accessSync, constants, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The text of a small file of the kernel, trimmed; null where it is absent or forbidden. */
export function readKernelFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** What checks read; tests give other machines. */
export interface KernelFiles {
  /** As `readKernelFile`. */
  read(path: string): string | null;
  /** The errno that reading would give, or null where it can be read. */
  obstacle(path: string): string | null;
  /** Where a symbolic link points, or null. */
  link(path: string): string | null;
  /** The names in a folder, sorted; none where there is no such folder. */
  list(path: string): string[];
}

export const realFiles: KernelFiles = {
  read: readKernelFile,
  obstacle(path) {
    try {
      accessSync(path, constants.R_OK);
      return null;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? 'EIO';
    }
  },
  link(path) {
    try {
      return readlinkSync(path);
    } catch {
      return null;
    }
  },
  list(path) {
    try {
      return readdirSync(path).sort();
    } catch {
      return [];
    }
  },
};

/** A number in /proc/sys/kernel, or null. */
export function kernelSetting(name: string, files: Pick<KernelFiles, 'read'> = realFiles): number | null {
  const text = files.read(`/proc/sys/kernel/${name}`);
  return text === null || text === '' ? null : Number(text);
}

/**
 * kernel.perf_event_paranoid: what users without CAP_PERFMON may do. -1 everything, 0 whole CPUs, 1 the
 * kernel's own code, 2 only their own code in user space; 3 and 4 with the patches of Debian and Ubuntu:
 * nothing, without them as 2. Null: this kernel has no perf events, or /proc/sys is hidden.
 */
export function paranoidLevel(files?: Pick<KernelFiles, 'read'>): number | null {
  return kernelSetting('perf_event_paranoid', files);
}

/** linux/capability.h */
export const CAP_DAC_READ_SEARCH = 2;
export const CAP_IPC_LOCK = 14;
export const CAP_SYS_PTRACE = 19;
export const CAP_SYS_ADMIN = 21;
export const CAP_SYSLOG = 34;
export const CAP_PERFMON = 38;
export const CAP_BPF = 39;

export function hasCapability(capabilities: bigint, capability: number): boolean {
  return ((capabilities >> BigInt(capability)) & 1n) !== 0n;
}

/**
 * Whether perf events are unrestricted: CAP_PERFMON, or before Linux 5.8
 * CAP_SYS_ADMIN, which still implies it.
 */
export function canMonitorAll(capabilities: bigint): boolean {
  return hasCapability(capabilities, CAP_PERFMON) || hasCapability(capabilities, CAP_SYS_ADMIN);
}

/**
 * Uprobes ask for CAP_SYS_ADMIN instead of CAP_PERFMON since Linux 6.16 (kernel/events/core.c, commit
 * ba677dbe77af), because one in the middle of an instruction breaks the program. Stable kernels have that
 * since July 2025, whatever their number says.
 */
export function uprobesNeedAdmin(release: string): boolean {
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 16);
}
