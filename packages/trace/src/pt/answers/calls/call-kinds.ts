/** How a call came about, and how it ended. Small numbers: they lie in columns. */

/** `CallRecord.kind`: a near call. */
export const CALL_NEAR = 1;
/** A system call, software interrupt or the like, into code that is traced. */
export const CALL_FAR = 2;
/** An interrupt, exception or signal: between two instructions. */
export const CALL_ASYNC = 3;
/** A jump to another function: it returns for the one that jumped. */
export const CALL_TAIL = 4;
/** Its call was not seen: the trace begins here, or goes on here after a loss, or a return led here. */
export const CALL_ROOT = 5;
/** `CallRecord.kind`: tracing is off. The kernel works, or a filter leaves this out. */
export const CALL_UNTRACED = 6;
/**
 * Tracing came back on somewhere else than where it went off: a signal's handler, a
 * function that is filtered for.
 */
export const CALL_ENTERED = 7;

/** Names of `CallRecord.kind`, by value. */
export const CALL_KIND_NAMES: readonly string[] = [
  'none',
  'call',
  'far',
  'async',
  'tail',
  'root',
  'untraced',
  'entered',
];

/** `CallRecord.left`: it came back to behind its call. */
export const LEFT_RETURN = 1;
/** The same, but calls inside it never came back: its own return was not seen. */
export const LEFT_LATE = 2;
/** Something further out went on (longjmp, an exception): it never came back. */
export const LEFT_UNWOUND = 3;
/** It returned, but not to behind its call. */
export const LEFT_ELSEWHERE = 4;
/**
 * The path broke off: packets were lost, or are wrong, or the code is not known. When it ended is not known.
 */
export const LEFT_LOST = 5;
/** The trace ends inside of it. */
export const LEFT_END = 6;
/** More calls were open than are kept: it was among the outermost. */
export const LEFT_TOO_DEEP = 7;

/** Names of `CallRecord.left`, by value. */
export const LEFT_NAMES: readonly string[] = [
  'open',
  'return',
  'late',
  'unwound',
  'elsewhere',
  'lost',
  'end',
  'too-deep',
];
