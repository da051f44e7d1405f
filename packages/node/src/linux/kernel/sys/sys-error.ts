import { getSystemErrorMap } from 'node:util';
import { CounterpointError } from '@counterpoint/core/base';

/** What a failed call was given, for the message: numbers and short texts. */
export type CallArguments = Readonly<Record<string, number | bigint | string | null>>;

/** A system call that failed. `code` is the errno's name, such as `EACCES`. */
export class SysError extends CounterpointError {
  /** Name of the call as in its manual page, or of the ioctl. */
  readonly call: string;
  readonly errno: number;
  readonly args: CallArguments;

  constructor(call: string, errno: number, args: CallArguments = {}, remedy = remedyOf(errno)) {
    super(errnoName(errno), `${call}(${formatArguments(args)}): ${errnoText(errno)}`, remedy);
    this.name = 'SysError';
    this.call = call;
    this.errno = errno;
    this.args = args;
  }
}

/**
 * What helps against an errno, whatever the call was. What knows more of the call
 * says it in an error of its own.
 */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'counterpoint doctor says which right is missing and how to give it.',
  EPERM: 'counterpoint doctor says which right is missing and how to give it.',
  EMFILE: 'Raise the limit of open files: ulimit -n 65536 (or LimitNOFILE= of a service).',
  ENFILE: 'Close other programs, or as root raise fs.file-max.',
  ENOMEM: 'Free some memory, ask for smaller buffers, or raise ulimit -l.',
  ENOSPC: 'Free what others hold of it, or ask for less.',
  ENOSYS: 'Use a kernel that has this call; in a container, a seccomp profile that allows it.',
  ENOENT: 'Check that it is there: it may have ended or been removed.',
  ESRCH: 'Check that the process or thread still runs: ps -eL.',
};
const OTHER_REMEDY = 'counterpoint doctor checks what the kernel allows here; dmesg may say why it refused.';

function remedyOf(errno: number): string {
  return REMEDIES[errnoName(errno)] ?? OTHER_REMEDY;
}

function formatArguments(args: CallArguments): string {
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

/**
 * On Linux ENOTSUP and EOPNOTSUPP are one number; Node knows the name that perf_event_open(2) does not use.
 */
const EOPNOTSUPP = 95;

let systemErrors: ReturnType<typeof getSystemErrorMap> | null = null;

/**
 * Name and text of an errno. Node makes a new map for each question: thousands of
 * refused events took 0.1 ms each.
 */
function systemError(errno: number): readonly [name: string, text: string] | undefined {
  systemErrors ??= getSystemErrorMap();
  return systemErrors.get(-errno);
}

/** `EACCES`; a number that the system does not know stays a number. */
export function errnoName(errno: number): string {
  if (errno === EOPNOTSUPP) return 'EOPNOTSUPP';
  return systemError(errno)?.[0] ?? `errno ${errno}`;
}

function errnoText(errno: number): string {
  const name = errnoName(errno);
  const text = errno === EOPNOTSUPP ? 'operation not supported' : systemError(errno)?.[1];
  return text === undefined ? name : `${text} (${name})`;
}
