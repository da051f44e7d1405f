/** File systems keep times by the tick, and so does /proc; a busy host may let ticks come late. */
const CLOCK_SLACK_MS = 100;

/**
 * Whether a file was last written before a process began (both by the wall clock): an earlier process, which
 * had the same number, wrote it. `startMs` null: nobody knows when it began.
 */
export function isOfEarlierProcess(writtenMs: number, startMs: number | null): boolean {
  return startMs !== null && writtenMs < startMs - CLOCK_SLACK_MS;
}
