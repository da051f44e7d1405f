import { release } from 'node:os';
import { CounterpointError } from '@counterpoint/core/base';
import {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  hasCapability,
  realFiles,
  uprobesNeedAdmin,
} from '../probe/index.ts';
import type { SysError } from '../sys/index.ts';

/** What was wanted, as far as rights go. */
export type Wanted =
  | 'own-code'
  | 'kernel-code'
  | 'whole-cpus'
  | 'other-process'
  | 'guarded-process'
  | 'tracepoint'
  | 'uprobe'
  | 'kprobe'
  | 'kernel-address';

/** Who was refused, and by which kernel. */
export interface Refused {
  /** In force, as far as the kernel asks for them: none inside a user namespace. */
  capabilities: bigint;
  /** As in uname(2): 6.18.4. */
  kernelRelease: string;
}

/** The kernel or a container does not allow it: what is missing, and how to get it. */
export class PermissionError extends CounterpointError {
  readonly call: string;
  readonly errno: number;
  readonly paranoid: number | null;
  /** The capability that would allow it; null where the process has it, and something else forbids it. */
  readonly missingCapability: 'CAP_PERFMON' | 'CAP_SYS_PTRACE' | 'CAP_SYS_ADMIN' | null;

  constructor(error: SysError, wanted: Wanted, paranoid: number | null, refused: Refused = ownStanding()) {
    const missing = missingFor(wanted, refused);
    super(
      'ERR_PERF_PERMISSION',
      messageFor(wanted, paranoid, missing, refused, error.code),
      remedyFor(wanted, paranoid, missing, refused),
    );
    this.name = 'PermissionError';
    this.call = error.call;
    this.errno = error.errno;
    this.paranoid = paranoid;
    this.missingCapability = missing;
    this.cause = error;
  }
}

const WANTED_TEXT: Readonly<Record<Wanted, string>> = {
  'own-code': 'your own programs',
  'kernel-code': "the kernel's code",
  'whole-cpus': 'whole CPUs',
  'other-process': 'a process of another user',
  'guarded-process':
    'your own process, which the kernel guards: its program has more rights than you (file capabilities, set-user-id), or asked for it (PR_SET_DUMPABLE)',
  tracepoint: 'tracepoints',
  uprobe: 'functions of programs (uprobes)',
  kprobe: 'functions of the kernel (kprobes)',
  'kernel-address': 'an address of the kernel (a breakpoint)',
};

/** The highest level of kernel.perf_event_paranoid at which a user without capabilities may have it. */
const ALLOWED_AT: Readonly<Record<Wanted, number>> = {
  'own-code': 2,
  'kernel-code': 1,
  'whole-cpus': 0,
  'other-process': Number.POSITIVE_INFINITY,
  'guarded-process': Number.POSITIVE_INFINITY,
  tracepoint: -1,
  // perf_uprobe_event_init and perf_kprobe_event_init ask for a capability whatever the level is.
  uprobe: Number.NEGATIVE_INFINITY,
  kprobe: Number.NEGATIVE_INFINITY,
  // hw_breakpoint_parse does so, too.
  'kernel-address': Number.NEGATIVE_INFINITY,
};

/** PROC_USER_INIT_INO of linux/proc_ns.h: capabilities of other user namespaces do not count. */
const FIRST_USER_NAMESPACE = 'user:[4026531837]';

export function standingOf(effective: bigint): Refused {
  const namespace = realFiles.link('/proc/self/ns/user') ?? FIRST_USER_NAMESPACE;
  return {
    capabilities: namespace === FIRST_USER_NAMESPACE ? effective : 0n,
    kernelRelease: release(),
  };
}

function ownStanding(): Refused {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(realFiles.read('/proc/self/status') ?? '')?.[1] ?? '0';
  return standingOf(BigInt(`0x${effective}`));
}

function missingFor(
  wanted: Wanted,
  { capabilities, kernelRelease }: Refused,
): PermissionError['missingCapability'] {
  if (wanted === 'other-process') return 'CAP_SYS_PTRACE';
  if (hasCapability(capabilities, CAP_SYS_ADMIN)) return null;
  if (wanted === 'uprobe')
    return hasCapability(capabilities, CAP_PERFMON) || uprobesNeedAdmin(kernelRelease)
      ? 'CAP_SYS_ADMIN'
      : 'CAP_PERFMON';
  if (wanted === 'kernel-address') return 'CAP_SYS_ADMIN';
  return canMonitorAll(capabilities) ? null : 'CAP_PERFMON';
}

function messageFor(
  wanted: Wanted,
  paranoid: number | null,
  missing: PermissionError['missingCapability'],
  { capabilities }: Refused,
  code: string,
): string {
  const what = `no permission to watch ${WANTED_TEXT[wanted]}`;
  if (missing === null)
    return `the kernel does not let even privileged users watch ${WANTED_TEXT[wanted]} in this manner (${code})`;
  if (wanted === 'uprobe' && missing === 'CAP_SYS_ADMIN' && hasCapability(capabilities, CAP_PERFMON))
    return `${what}: this kernel requires CAP_SYS_ADMIN; CAP_PERFMON is not enough since Linux 6.16, and in stable kernels since July 2025`;
  if (ALLOWED_AT[wanted] === Number.NEGATIVE_INFINITY)
    return `${what}: only ${missing} allows it, at any kernel.perf_event_paranoid`;
  if (paranoid === null || paranoid <= ALLOWED_AT[wanted]) return what;
  return `${what}: kernel.perf_event_paranoid is ${paranoid}`;
}

function remedyFor(
  wanted: Wanted,
  paranoid: number | null,
  missing: PermissionError['missingCapability'],
  { kernelRelease }: Refused,
): string {
  if (wanted === 'other-process') return 'Run it as root, or as the user who owns the process.';
  if (missing === null) {
    const others =
      'The lockdown of the kernel, a security module, a hardened kernel or, in a container, its seccomp profile forbids it.';
    return wanted === 'tracepoint'
      ? `${others} ftrace:function makes the kernel change its own code, like: echo function > /sys/kernel/tracing/current_tracer`
      : others;
  }
  if (wanted === 'guarded-process') return `Run it as root or with ${missing}.`;
  const level = ALLOWED_AT[wanted];
  const ways = [`Run it as root or with ${missing}.`];
  if (wanted === 'uprobe' && missing === 'CAP_PERFMON' && !uprobesNeedAdmin(kernelRelease))
    ways.push('Stable kernels since July 2025 require CAP_SYS_ADMIN instead.');
  if (level === Number.NEGATIVE_INFINITY) return ways.join('\n');
  if (paranoid !== null && paranoid > level)
    ways.push(`Or allow it to every user: sysctl kernel.perf_event_paranoid=${level}`);
  else
    ways.push(
      'In a container: its seccomp profile forbids perf_event_open; add CAP_PERFMON, or another profile.',
    );
  if (wanted === 'whole-cpus') ways.push('Or watch only a command or your own processes (-p PID).');
  if (wanted === 'kernel-code') ways.push('Or record user space only: add :u to the event.');
  return ways.join('\n');
}
