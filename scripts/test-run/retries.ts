/** What the tests of a run tried again: `onTime` adds a line to a file for each, which the run reads. */
import { existsSync, readFileSync } from 'node:fs';

/** Names the file to the tests; packages/core/src/test/on-time.ts writes it. */
export const RETRIES_VARIABLE = 'COUNTERPOINT_TEST_RETRIES';

/** An assertion on time that did not hold at once. */
export interface Retry {
  /** Absolute path of the test file. */
  file: string;
  /** Attempts that missed the time, and the text of the last. */
  missed: number;
  why: string;
}

/** In the order in which they happened. */
export function readRetries(path: string, sourceOf: (program: string) => string): Retry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const retry: Retry = JSON.parse(line);
      return { ...retry, file: sourceOf(retry.file) };
    });
}
