import { CounterpointError } from '@counterpoint/core/base';

/** The output cannot take more. What was written before stays readable. */
export class WriteError extends CounterpointError {
  /** `ENOSPC`, `EPIPE`, ... */
  readonly errnoCode: string;

  /** `orElse`: what else helps where there is no room, `or limit the recording with --max-size`. */
  constructor(path: string, cause: unknown, orElse = '') {
    const {
      code = '',
      message,
      remedy = '',
    } = (cause ?? new Error('no cause')) as NodeJS.ErrnoException & { remedy?: string };
    const own = NO_ROOM.has(code) && orElse !== '' ? `${REMEDIES[code]}, ${orElse}` : REMEDIES[code];
    super(
      'ERR_WRITE',
      `cannot write ${path}: ${TEXTS[code] ?? message}`,
      own === undefined ? remedy || 'Write elsewhere with -o.' : `${own}.`,
    );
    this.name = 'WriteError';
    this.errnoCode = code;
    this.cause = cause;
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EPIPE: 'the reader of the pipe has closed it',
  EFBIG: 'the file has reached its largest allowed size',
  EACCES: 'permission denied',
  EPERM: 'the existing file belongs to another user, or may not be changed',
  EROFS: 'the file system is read-only',
  ENOENT: 'no such directory',
  EISDIR: 'it is a directory',
  EIO: 'the device below it failed (input/output error)',
};

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some space, or write elsewhere with -o',
  EDQUOT: 'Free some of it, or write elsewhere with -o',
  EFBIG: 'Raise the limit (ulimit -f), or write to another file system with -o',
  EIO: 'Write elsewhere with -o. The log of the kernel (dmesg) may say what failed',
  EACCES: 'Write elsewhere with -o',
  EPERM: 'Write elsewhere with -o',
  EROFS: 'Write elsewhere with -o',
};

const NO_ROOM: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** The file may not be made here. */
const REFUSED: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS']);

/** What to throw where an output could not be opened. */
export function openFailure(path: string, error: unknown): unknown {
  return REFUSED.has((error as NodeJS.ErrnoException)?.code ?? '') ? new WriteError(path, error) : error;
}

/** The output has no room, or the device failed. Other errors of a write have reasons of their own. */
export function isOutputFailure(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException;
  return NO_ROOM.has(code) || code === 'EIO';
}
