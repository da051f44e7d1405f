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

  constructor(call: string, errno: number, args: CallArguments = {}, remedy = '') {
    super(errnoName(errno), `${call}(${formatArguments(args)}): ${errnoText(errno)}`, remedy);
    this.name = 'SysError';
    this.call = call;
    this.errno = errno;
    this.args = args;
  }
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
