import { CounterpointError } from '@counterpoint/core/base';
import type { SysError } from '../sys/index.ts';

/** What was wanted, as far as rights go. */
export type Wanted = 'own-code' | 'kernel-code' | 'whole-cpus' | 'other-process' | 'tracepoint' | 'probe';

/** The kernel or a container does not allow it: what is missing, and how to get it. */
export class PermissionError extends CounterpointError {
  readonly call: string;
  readonly errno: number;
  readonly paranoid: number | null;
  /** The capability that would allow it. */
  readonly missingCapability: 'CAP_PERFMON' | 'CAP_SYS_PTRACE';

  constructor(error: SysError, wanted: Wanted, paranoid: number | null) {
    const needsPtrace = wanted === 'other-process';
    super('ERR_PERF_PERMISSION', messageFor(wanted, paranoid), remedyFor(wanted, paranoid));
    this.name = 'PermissionError';
    this.call = error.call;
    this.errno = error.errno;
    this.paranoid = paranoid;
    this.missingCapability = needsPtrace ? 'CAP_SYS_PTRACE' : 'CAP_PERFMON';
    this.cause = error;
  }
}

const WANTED_TEXT: Readonly<Record<Wanted, string>> = {
  'own-code': 'your own programs',
  'kernel-code': "the kernel's code",
  'whole-cpus': 'whole CPUs',
  'other-process': 'a process of another user',
  tracepoint: 'tracepoints',
  probe: 'probes in code (uprobes, kprobes)',
};

/** The highest level of kernel.perf_event_paranoid at which a user without capabilities may have it. */
const ALLOWED_AT: Readonly<Record<Wanted, number>> = {
  'own-code': 2,
  'kernel-code': 1,
  'whole-cpus': 0,
  'other-process': Number.POSITIVE_INFINITY,
  tracepoint: -1,
  // perf_uprobe_event_init asks for the capability whatever the level is.
  probe: Number.NEGATIVE_INFINITY,
};

function messageFor(wanted: Wanted, paranoid: number | null): string {
  const what = `no permission to watch ${WANTED_TEXT[wanted]}`;
  if (wanted === 'probe') return `${what}: only CAP_PERFMON allows it, at any kernel.perf_event_paranoid`;
  if (paranoid === null || paranoid <= ALLOWED_AT[wanted]) return what;
  return `${what}: kernel.perf_event_paranoid is ${paranoid}`;
}

function remedyFor(wanted: Wanted, paranoid: number | null): string {
  if (wanted === 'other-process') return 'Run it as root, or as the user who owns the process.';
  const level = ALLOWED_AT[wanted];
  const ways = ['Run it as root or with CAP_PERFMON.'];
  if (wanted === 'probe') return ways[0]!;
  if (paranoid !== null && paranoid > level)
    ways.push(`Or allow it to every user: sysctl kernel.perf_event_paranoid=${level}`);
  else
    ways.push(
      'In a container: its seccomp profile forbids perf_event_open; add CAP_PERFMON, or another profile.',
    );
  if (wanted === 'whole-cpus')
    ways.push('Or watch only what is yours: a command, or your own processes with -p PID.');
  if (wanted === 'kernel-code') ways.push('Or record user space only: add :u to the event.');
  return ways.join('\n');
}
