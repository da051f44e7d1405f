import { type Sys, SysError } from '../sys/index.ts';
import type { Check } from './check.ts';
import {
  CAP_DAC_READ_SEARCH,
  CAP_SYSLOG,
  canMonitorAll,
  hasCapability,
  type KernelFiles,
  paranoidLevel,
} from './kernel-settings.ts';
import { containerKind } from './process-facts.ts';
import { OUTSIDE, seccompRemedy } from './remedies.ts';

/** What this process may, as far as the kernel asks for it. */
export interface Standing {
  paranoid: number | null;
  /** It has the right to monitor everything: CAP_PERFMON or root, outside of all user namespaces. */
  isPrivileged: boolean;
  /**
   * It has that right only inside its user namespace, where the kernel does not look (a rootless container).
   */
  isNamespaceRoot: boolean;
  isInNamespace: boolean;
  hasSyslog: boolean;
  /** Modes of files do not bind it. */
  readsAll: boolean;
  /** What runs the container that it is in; null: none is seen. */
  container: string | null;
  /** A seccomp filter decides on its system calls. */
  isConfined: boolean;
}

/** Inode of the first user namespace: PROC_USER_INIT_INO of linux/proc_ns.h. */
const FIRST_USER_NAMESPACE = 'user:[4026531837]';

export function readStanding(sys: Sys, files: KernelFiles): Standing {
  const capabilities = sys.effectiveCapabilities();
  const isOutside = (files.link('/proc/self/ns/user') ?? FIRST_USER_NAMESPACE) === FIRST_USER_NAMESPACE;
  return {
    paranoid: paranoidLevel(files),
    isPrivileged: isOutside && canMonitorAll(capabilities),
    isNamespaceRoot: !isOutside && canMonitorAll(capabilities),
    isInNamespace: !isOutside,
    hasSyslog: isOutside && hasCapability(capabilities, CAP_SYSLOG),
    readsAll: isOutside && hasCapability(capabilities, CAP_DAC_READ_SEARCH),
    container: containerKind(files),
    isConfined: /^Seccomp:\s*2$/m.test(files.read('/proc/self/status') ?? ''),
  };
}

/**
 * What an errno of perf_event_open means, and what helps. `level` is the paranoid level
 * at which it would be allowed.
 */
export function refusal(name: string, error: unknown, level: number, standing: Standing): Check {
  if (!(error instanceof SysError)) return { name, state: 'unknown', why: String(error), fix: '' };
  switch (error.code) {
    case 'ENOSYS': {
      const why = 'perf_event_open does not exist here (ENOSYS)';
      const { isConfined } = standing;
      const fix = isConfined
        ? 'A seccomp profile hides it: allow perf_event_open in the profile of the container.'
        : 'Use a kernel with CONFIG_PERF_EVENTS.';
      return { name, state: isConfined ? 'forbidden' : 'absent', why, fix };
    }
    case 'EACCES':
    case 'EPERM':
      return { name, state: 'forbidden', ...forbidden(error, level, standing) };
    case 'ENOENT':
    case 'ENODEV':
    case 'ENXIO':
    case 'EOPNOTSUPP':
      return { name, state: 'absent', why: `not supported here (${error.code})`, fix: '' };
    default:
      return { name, state: 'unknown', why: error.message, fix: '' };
  }
}

function forbidden(error: SysError, level: number, standing: Standing): Pick<Check, 'why' | 'fix'> {
  const { paranoid, isPrivileged, isNamespaceRoot, isConfined, container } = standing;
  if (error.call === 'mmap')
    return {
      why: 'the limit of locked memory leaves no room for a ring',
      fix: 'Raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l).',
    };
  // The paranoid level does not bind those who may everything.
  if (!isPrivileged && paranoid !== null && paranoid > level)
    return {
      why: `kernel.perf_event_paranoid is ${paranoid}; it must be at most ${level}`,
      fix: `Run it as root or with CAP_PERFMON${isNamespaceRoot ? `,${OUTSIDE}` : ''}.\nFor every user: sysctl kernel.perf_event_paranoid=${level}`,
    };
  if (isConfined) {
    const why = 'a seccomp profile forbids perf_event_open, as in most containers';
    return { why, fix: seccompRemedy(container) };
  }
  return isPrivileged
    ? {
        why: `not even root may do this (${error.code})`,
        fix: 'A security module (SELinux) or the lockdown of the kernel forbids it.',
      }
    : { why: `not allowed (${error.code})`, fix: 'Run it as root or with CAP_PERFMON.' };
}

const PARANOID_TEXTS: Readonly<Record<string, string>> = {
  '-1': 'everybody may record everything',
  '0': 'everybody may record whole CPUs, but not raw tracepoints',
  '1': 'everybody may record their own processes, and the kernel in them',
  '2': 'everybody may record the user space of their own processes',
};
const NOBODY =
  'nobody without CAP_PERFMON may record anything (levels of the patched kernels of Debian, 3, and Ubuntu, 4)';

/**
 * `canRecord` is what the trial showed: kernels without the patches of Debian or
 * Ubuntu take levels above 2 as 2.
 */
export function checkParanoid(
  { paranoid, isPrivileged, isNamespaceRoot }: Standing,
  canRecord: boolean,
): Check {
  const name = 'rights';
  if (paranoid === null) {
    if (!canRecord) {
      const why = 'this kernel has no perf events (no kernel.perf_event_paranoid)';
      return { name, state: 'absent', why, fix: 'Use a kernel with CONFIG_PERF_EVENTS.' };
    }
    const why = 'kernel.perf_event_paranoid cannot be read (/proc/sys is hidden), but recording works';
    return { name, state: 'unknown', why, fix: '' };
  }
  const isTakenAs2 = paranoid > 2 && canRecord;
  const meaning = isTakenAs2
    ? `as 2 on this kernel: ${PARANOID_TEXTS['2']}`
    : PARANOID_TEXTS[String(paranoid)];
  const why = `kernel.perf_event_paranoid is ${paranoid}: ${isPrivileged && paranoid > 2 ? 'it limits only other users' : (meaning ?? NOBODY)}`;
  if (isPrivileged)
    return {
      name,
      state: 'ok',
      why: `${why}; this process may do everything (CAP_PERFMON or root)`,
      fix: '',
    };
  const addition = isNamespaceRoot
    ? '; being root in a user namespace (a rootless container) changes nothing'
    : '';
  if (paranoid <= 2 || canRecord) return { name, state: 'ok', why: `${why}${addition}`, fix: '' };
  return { name, state: 'forbidden', why: `${why}${addition}`, fix: 'sysctl kernel.perf_event_paranoid=2' };
}
