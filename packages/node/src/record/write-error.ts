import { CounterpointError } from '@counterpoint/core/base';

/** The output cannot take more. What was written before stays readable. */
export class WriteError extends CounterpointError {
  /** `ENOSPC`, `EPIPE`, ... */
  readonly errnoCode: string;

  constructor(path: string, cause: unknown) {
    const { code = '', message } = cause as NodeJS.ErrnoException;
    super('ERR_WRITE', `cannot write ${path}: ${TEXTS[code] ?? message}`, REMEDIES[code] ?? '');
    this.name = 'WriteError';
    this.errnoCode = code;
    this.cause = cause;
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EPIPE: 'the reader of the pipe has closed it',
  EFBIG: 'the file has reached the largest size allowed',
  EACCES: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'no such directory',
  EISDIR: 'it is a directory',
};

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some space, write elsewhere with -o, or limit the recording with --max-size.',
  EACCES: 'Write elsewhere with -o.',
  EROFS: 'Write elsewhere with -o.',
};
