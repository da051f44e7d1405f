/** An error that a user can act on: what happened, and what to do about it. */
export class CounterpointError extends Error {
  /** A stable code such as `ERR_NOT_PERF_DATA`, for programs. */
  readonly code: string;
  /** The next step, one or more lines for a person; empty where there is none. */
  readonly remedy: string;

  constructor(code: string, message: string, remedy = '') {
    super(message);
    this.name = 'CounterpointError';
    this.code = code;
    this.remedy = remedy;
  }
}

/** Bytes that are not what the format says, at a place where reading cannot go on. */
export class FormatError extends CounterpointError {
  /** Where in the file or buffer, in bytes. */
  readonly offset: number;
  readonly expected: string;
  readonly found: string;

  constructor(code: string, offset: number, expected: string, found: string, remedy = '') {
    super(code, `at offset ${offset}: expected ${expected}, found ${found}`, remedy);
    this.name = 'FormatError';
    this.offset = offset;
    this.expected = expected;
    this.found = found;
  }
}
