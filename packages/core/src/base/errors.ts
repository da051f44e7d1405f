/**
 * Lets `instanceof` hold for errors of every copy of a class: each package bundles what it uses of core,
 * a program may install two versions of it, and a bundler may put one more copy into its output. The
 * copies share a mark of this name.
 */
export function sameInEveryCopy(errorClass: abstract new (...args: never[]) => Error, name: string): void {
  const mark = Symbol.for(`@counterpoint/core:${name}`);
  Object.defineProperty(errorClass.prototype, mark, { value: true });
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      // Classes that extend this one inherit this method, and have no mark of their own.
      if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this as never, value);
      return typeof value === 'object' && value !== null && mark in value;
    },
  });
}

/** An error that a user can act on: what happened, and what to do about it. */
export class CounterpointError extends Error {
  static {
    sameInEveryCopy(CounterpointError, 'CounterpointError');
  }

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
  static {
    sameInEveryCopy(FormatError, 'FormatError');
  }

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
