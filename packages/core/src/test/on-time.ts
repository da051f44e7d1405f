import { AssertionError } from 'node:assert';
import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const ATTEMPTS = 5;
/** The first pause between attempts; each is twice the one before: 1.5 s in all. */
const FIRST_PAUSE_MS = 100;

/** Something took longer than it may where nobody else wants the CPU. */
class LateError extends AssertionError {}

/**
 * Assert what holds only where nobody takes the CPU away at the wrong moment. Inside of `onTime` it is tried
 * again.
 */
export function assertOnTime(holds: boolean, message: string): void {
  if (!holds) throw new LateError({ message, stackStartFn: assertOnTime });
}

/**
 * One attempt of five must be on time. Others on the machine, and the host of a virtual one, make work
 * longer, never shorter; what is wrong in the code is wrong in all attempts. Between attempts it waits,
 * so that another test may end: while one has an exclusive event, the kernel gives nobody else's events
 * that time. Only `assertOnTime` leads to another attempt: every other error ends the test at once. The
 * run counts what was tried again.
 */
export async function onTime<Result>(attempt: () => Result | Promise<Result>): Promise<Result> {
  let missed = 0;
  let why = '';
  try {
    while (true) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof LateError)) throw error;
        missed++;
        why = error.message;
        if (missed === ATTEMPTS) throw error;
        await setTimeout(FIRST_PAUSE_MS * 2 ** (missed - 1));
      }
    }
  } finally {
    if (missed > 0) tell(missed, why);
  }
}

/** A line for each retry, where `npm test` wants them: scripts/test-run/retries.ts reads it. */
function tell(missed: number, why: string): void {
  const path = process.env['COUNTERPOINT_TEST_RETRIES'];
  if (path === undefined) return;
  appendFileSync(path, `${JSON.stringify({ file: process.argv[1], missed, why })}\n`);
}
