import { statSync } from 'node:fs';
import { PERF_TYPE_BREAKPOINT, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { PerfEventAttr } from '@counterpoint/core/records';
import type { SysError } from '../sys/index.ts';
import { hasBranches, watchesKernelAddress } from './fallback.ts';
import { PermissionError, type Refused, type Wanted } from './permission-error.ts';

/** The open that the kernel refused, and what else decides why. */
export interface RefusedOpen {
  /** As the user asked for it. */
  name: string;
  attr: PerfEventAttr;
  /** -1 is everybody. */
  task: number;
  paranoid: number | null;
  descriptorsNeeded: number;
  descriptorLimit: number;
  /** This process on this kernel when absent. */
  standing?: Refused;
  /** Another event leads the group that it was opened for. */
  isMember?: boolean;
}

/** What an errno of perf_event_open means for the user, and what to do. */
export function explainOpenError(error: SysError, refused: RefusedOpen): CounterpointError {
  const { name } = refused;
  switch (error.code) {
    case 'EACCES':
    case 'EPERM':
      return new PermissionError(error, wantedRight(refused), refused.paranoid, refused.standing);
    case 'EMFILE':
    case 'ENFILE':
      return new CounterpointError(
        'ERR_DESCRIPTOR_LIMIT',
        `not enough open files: this needs ${refused.descriptorsNeeded} (events times CPUs times threads), the limit is ${refused.descriptorLimit}`,
        'Raise the limit with ulimit -n (or LimitNOFILE= of a service), or watch fewer threads with -t or fewer CPUs with -C.',
      );
    case 'ENOENT':
    case 'ENODEV':
    case 'ENXIO':
    case 'EOPNOTSUPP':
      if (hasBranches(refused.attr)) return withoutBranches(name, error.code);
      return new CounterpointError(
        'ERR_EVENT_UNSUPPORTED',
        `the event ${name} is not supported here (${error.code})`,
        'A virtual machine often has no hardware counters; cpu-clock works everywhere. Try counterpoint doctor.',
      );
    case 'ENOSPC':
      if (refused.attr.type !== PERF_TYPE_BREAKPOINT) break;
      return new CounterpointError(
        'ERR_EVENT_BUSY',
        `no debug register is free for ${name}: a CPU has few (x86: four), and a debugger or other breakpoints use them`,
        'Watch fewer addresses, or one range: mem:ADDRESS/8.',
      );
    case 'EBUSY':
      return new CounterpointError(
        'ERR_EVENT_BUSY',
        `the counters for ${name} are in use, by another profiler or the NMI watchdog`,
        'End the other profiler, or as root: echo 0 > /proc/sys/kernel/nmi_watchdog.',
      );
    case 'ESRCH':
      return new CounterpointError(
        'ERR_NO_PROCESS',
        `process or thread ${refused.task} has ended`,
        'List processes with ps -e, threads with ps -eL.',
      );
    case 'E2BIG':
      // Also what a read of the whole group would give is limited (16 KiB).
      if (refused.isMember === true)
        return new CounterpointError(
          'ERR_GROUP_SIZE',
          `the group of ${name} has more events than the kernel can read together`,
          'Split it: {a,b,c},{d,e,f}, or name events without braces.',
        );
      return new CounterpointError(
        'ERR_KERNEL_TOO_OLD',
        `this kernel is too old for ${name}`,
        'Leave out what the event asks for beyond its name, or use a newer kernel.',
      );
    case 'ENOSYS':
      return new CounterpointError(
        'ERR_NO_PERF_EVENTS',
        'this kernel has no perf events, or a container hides them (perf_event_open gives ENOSYS)',
        'Use a kernel with CONFIG_PERF_EVENTS; in a container, a seccomp profile that allows perf_event_open.',
      );
  }
  return new CounterpointError(
    'ERR_EVENT_OPEN',
    `cannot open the event ${name}: ${error.message}`,
    'counterpoint doctor says what this machine can count; dmesg may say why the kernel refused.',
  );
}

/** Also a CPU that has branch records refuses them to software events and tracepoints. */
function withoutBranches(name: string, code: string): CounterpointError {
  return new CounterpointError(
    'ERR_BRANCH_STACK',
    `the event ${name} cannot have branch stacks here (${code}): they need a hardware event on a CPU that records branches (Intel LBR, AMD LBR v2 or BRS, Arm BRBE), and virtual machines seldom have one`,
    'To count branches without the hardware, step through the program: counterpoint stat -e soft/branches/,soft/cond/ -- COMMAND. For call chains use -g or --call-graph dwarf.',
  );
}

/** Why a ring was not mapped. `what` comes into it; `otherwise` needs less of them. */
export function explainMmapError(error: SysError, what: string, otherwise: string): CounterpointError {
  return new CounterpointError(
    'ERR_LOCKED_MEMORY',
    `cannot map a buffer for the ${what}: ${error.message}`,
    `Raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l), or ${otherwise}.`,
  );
}

function wantedRight({ name, attr, task }: RefusedOpen): Wanted {
  if (/^u(?:ret)?probe[:/]/.test(name)) return 'uprobe';
  if (/^k(?:ret)?probe[:/]/.test(name)) return 'kprobe';
  if (attr.type === PERF_TYPE_TRACEPOINT) return 'tracepoint';
  if (watchesKernelAddress(attr)) return 'kernel-address';
  if (task === -1) return 'whole-cpus';
  // Whatever the level is: it takes the right to trace the process.
  if (!isOwn(task)) return 'other-process';
  if (isGuarded(task)) return 'guarded-process';
  return attr.flags.excludeKernel === 0 ? 'kernel-code' : 'own-code';
}

function isOwn(task: number): boolean {
  try {
    // Root may trace all, and so what refuses root is something else.
    return process.getuid?.() === 0 || statSync(`/proc/${task}`).uid === process.getuid?.();
  } catch {
    return true;
  }
}

/** The kernel shows what is private of such a process as root's, whoever owns the process. */
function isGuarded(task: number): boolean {
  try {
    // Root is refused for something else.
    if (process.getuid?.() === 0) return false;
    return statSync(`/proc/${task}/environ`).uid !== statSync(`/proc/${task}`).uid;
  } catch {
    return false;
  }
}
