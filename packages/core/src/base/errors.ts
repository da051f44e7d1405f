/**
 * Whether a value is an error of this class or of another copy of it. There are copies: each package bundles
 * what it uses of core, a program may install two versions of it, and a bundler may put one more into its
 * output. All copies of a class have the same `brand`. A class without one of its own is an ordinary class.
 */
function isBranded(errorClass: typeof CounterpointError, value: unknown): boolean {
  if (!Object.hasOwn(errorClass, 'brand'))
    return Function.prototype[Symbol.hasInstance].call(errorClass, value);
  let one: (object & { brand?: unknown }) | null = value instanceof Error ? value.constructor : null;
  for (; one !== null; one = Object.getPrototypeOf(one)) if (one.brand === errorClass.brand) return true;
  return false;
}

/** An error that a user can act on: what happened, and what to do about it. */
export class CounterpointError extends Error {
  /** The same in every copy of the class: `instanceof` goes by it. */
  static readonly brand: string = '@counterpoint/core:CounterpointError';

  /** True for errors of every copy of the class: it goes by `brand`. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one is asked about itself.
    return isBranded(this, value);
  }

  /** A stable code such as `ERR_NOT_PERF_DATA`, for programs. */
  readonly code: string;
  /** The next step: one or more lines for a person. */
  readonly remedy: string;

  /** `code` is stable and upper-case, `message` says what happened, `remedy` what to do. */
  constructor(code: string, message: string, remedy: string) {
    super(message);
    this.name = 'CounterpointError';
    this.code = code;
    this.remedy = remedy;
  }
}

/** What helps against bytes that are wrong, where nothing more is known about them. */
const DAMAGED =
  'Make or copy the data again: it is damaged or cut off. If it is not, a newer version may read it.';

/** Bytes that are not what the format says, at a place where reading cannot go on. */
export class FormatError extends CounterpointError {
  /** The same in every copy of the class: `instanceof` goes by it. */
  static override readonly brand: string = '@counterpoint/core:FormatError';

  /** Where in the file or buffer, in bytes. */
  readonly offset: number;
  /** What the format has there. */
  readonly expected: string;
  /** What is there. */
  readonly found: string;

  /** The message is made of the place, of what was expected and of what was found. */
  constructor(code: string, offset: number, expected: string, found: string, remedy = DAMAGED) {
    super(code, `at offset ${offset}: expected ${expected}, found ${found}`, remedy);
    this.name = 'FormatError';
    this.offset = offset;
    this.expected = expected;
    this.found = found;
  }
}
