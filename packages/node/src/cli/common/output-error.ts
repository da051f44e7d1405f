import { CounterpointError } from '@counterpoint/core/base';
import type { Output } from './output.ts';
import { UsageError } from './usage-error.ts';

/** The second line begins with an arrow to the first: `\___`. */
const POINTS_UP = /^[^\n]*\n\s*(?:\\_|\^)/;

/**
 * What happened, why, and what to do about it. Errors that were not foreseen are named as such; their stack
 * only helps who debugs, so it takes `-v` or DEBUG.
 */
export function printError(
  thrown: unknown,
  output: Output,
  { verbose = false, prefix = 'counterpoint' }: { verbose?: boolean; prefix?: string } = {},
): void {
  const { red, bold } = output.style;
  const error = firstError(thrown);
  const text = describe(error);
  // Some point at a place in their first line: nothing may move it.
  output.line(POINTS_UP.test(text) ? text : `${bold(`${prefix}:`)} ${red(text)}`);
  const remedy = remedyOf(error);
  for (const line of remedy === '' ? [] : remedy.split('\n')) output.line(`  ${line}`);
  // What is wrong with a command line stands in it, not in our code.
  if (verbose && !(error instanceof UsageError)) {
    if (error instanceof CounterpointError) output.line(`  Error code: ${error.code}`);
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      output.line(cause.stack ?? String(cause));
  } else if (!isForeseen(error)) {
    output.line('  This error is unexpected. Run it again with -v to see where it happened.');
  }
  output.flush();
}

/** Where closing failed, too, what had gone wrong before is what matters. */
function firstError(error: unknown): unknown {
  let first = error;
  while (first instanceof Error && first.name === 'SuppressedError' && 'suppressed' in first)
    first = first.suppressed;
  return first;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof CounterpointError || !isForeseen(error)) return error.message || error.name;
  // Node's own: "ENOENT: no such file or directory, open 'x'".
  return fileErrorText(error as NodeJS.ErrnoException) ?? error.message;
}

/** `cannot open x: no such file or directory`, of Node's errors about files. */
function fileErrorText(error: NodeJS.ErrnoException): string | null {
  const match = /^[A-Z][A-Z0-9]*: ([^,]+), /.exec(error.message);
  if (match === null || error.syscall === undefined) return null;
  // A file is looked at before it is opened. Users know only that they named it.
  const done = error.syscall === 'stat' ? 'open' : error.syscall;
  return `cannot ${done}${error.path === undefined ? '' : ` ${error.path}`}: ${match[1]}`;
}

function remedyOf(error: unknown): string {
  const { remedy, code } = (error ?? {}) as { remedy?: unknown; code?: unknown };
  if (typeof remedy === 'string') return remedy;
  return code === 'EMFILE'
    ? 'Raise the limit of open files: ulimit -n 1024 (or LimitNOFILE= of a service).'
    : '';
}

/** Ours, or the system's: errors with a code and a cause outside the program. */
function isForeseen(error: unknown): boolean {
  return (
    error instanceof CounterpointError ||
    (error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string') ||
    (error instanceof Error && error.name === 'AbortError')
  );
}
