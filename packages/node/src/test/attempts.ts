import { AssertionError } from 'node:assert';

const ATTEMPTS = 5;

/**
 * For what is so where nobody takes the CPU away at the wrong moment, as a busy host does: one attempt of
 * five holds. What is wrong in the code is wrong in all of them.
 */
export async function inOneAttempt(attempt: () => Promise<void>): Promise<void> {
  for (let left = ATTEMPTS - 1; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0 || !(error instanceof AssertionError)) throw error;
    }
  }
}
