import { type BigIntStats, statSync } from 'node:fs';

/**
 * A pid namespace, as a program asks the kernel for it. In a container processes have other numbers
 * than outside, and the kernel's records of an event (who began, what was mapped) have those of the
 * namespace in which it was opened.
 */
export interface PidNamespace {
  /** A `dev_t` as the kernel has it within: 12 bits of the major number above 20 of the minor one. */
  readonly device: bigint;
  /** The inode of the namespace: that of /proc/self/ns/pid. */
  readonly inode: bigint;
}

/** Inode of the first one: PROC_PID_INIT_INO of linux/proc_ns.h. */
const FIRST_PID_NAMESPACE = 4026531836n;

/** The one of this process; null in the first, and where /proc does not say it. */
export function ownPidNamespace(
  stat: (path: string) => Pick<BigIntStats, 'dev' | 'ino'> = (path) => statSync(path, { bigint: true }),
): PidNamespace | null {
  try {
    const { dev, ino } = stat('/proc/self/ns/pid');
    return ino === FIRST_PID_NAMESPACE ? null : { device: kernelDevice(dev), inode: ino };
  } catch {
    return null;
  }
}

/**
 * From what stat(2) says: the low 8 bits of the minor number, then 12 of the major
 * one, then the rest of the minor.
 */
function kernelDevice(dev: bigint): bigint {
  const major = (dev >> 8n) & 0xfffn;
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xfff00n);
  return (major << 20n) | minor;
}
