import type { ExitStatus, HeldCommand } from '../target/index.ts';

const DEFAULT_COMMAND_GRACE_MS = 5000;

/** The outcome where a command does not end: it is left to itself. */
export interface CommandGoesOn {
  /** What is said of it. */
  text: string;
}

/**
 * How a command ends that was told to (SIGTERM), or ends by itself. One that has not ended after `graceMs`
 * is left alone.
 */
export async function endOfCommand(
  held: HeldCommand,
  {
    endsByItself,
    graceMs = DEFAULT_COMMAND_GRACE_MS,
  }: { endsByItself: boolean; graceMs: number | undefined },
): Promise<ExitStatus | CommandGoesOn> {
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
  const onAbort = () => held.kill('SIGTERM');
  const aborted = new Promise<void>((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  await Promise.race([held.exited, signal?.aborted === true ? null : aborted]);
  signal?.removeEventListener('abort', onAbort);
}
