import { type ExitStatus, type HeldCommand, LEAVE_COMMAND } from '../../kernel/target/index.ts';

const DEFAULT_COMMAND_GRACE_MS = 5000;

/** The outcome where a command does not end: it is left to itself. */
export interface CommandGoesOn {
  /** What is said of it. */
  text: string;
}

/** Tell the command of a recording that ends before it to end, as perf does; unless it is left to itself. */
export function tellToEnd(held: HeldCommand | null, signal: AbortSignal | undefined): void {
  if (signal?.reason !== LEAVE_COMMAND) held?.kill('SIGTERM');
}

/**
 * How a command ends that was told to (SIGTERM), or ends by itself. One that has not ended after `graceMs`
 * is left alone, or at once where `signal` says so.
 */
export async function endOfCommand(
  held: HeldCommand,
  {
    endsByItself,
    graceMs = DEFAULT_COMMAND_GRACE_MS,
    signal,
  }: { endsByItself: boolean; graceMs: number | undefined; signal: AbortSignal | undefined },
): Promise<ExitStatus | CommandGoesOn> {
  if (!endsByItself && signal?.reason === LEAVE_COMMAND) {
    held.abandon();
    return { text: `the command (process ${held.pid}) still runs` };
  }
  if (endsByItself || graceMs === Number.POSITIVE_INFINITY) return await held.exited;
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<null>((resolve) => {
    // On a busy machine it has ended by then, and the event loop has not told of it yet:
    // that comes between the two.
    timer = setTimeout(() => setImmediate(resolve, null), graceMs);
  });
  const exit = await Promise.race([held.exited, patience]);
  clearTimeout(timer);
  if (exit !== null) return exit;
  held.abandon();
  return {
    text: `the command (process ${held.pid}) still runs: SIGTERM did not end it within ${graceMs} ms`,
  };
}

/** A command that goes on ends by itself, or when the caller ends the recording. */
export async function endOrAbort(held: HeldCommand, signal: AbortSignal | undefined): Promise<void> {
  const onAbort = () => tellToEnd(held, signal);
  const aborted = new Promise<void>((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  await Promise.race([held.exited, signal?.aborted === true ? null : aborted]);
  signal?.removeEventListener('abort', onAbort);
}
