/** The last lines of a run: what was skipped, what was tried again, how long it took. */
import { relative } from 'node:path';
import type { TestRun } from './run.ts';

/** Files that are named as the longest. */
const LONGEST = 5;

export function summary(result: TestRun): string {
  const skipped = result.skips.reduce((sum, { tests }) => sum + tests.length, 0);
  const lines = [
    '',
    `${result.passed} tests passed, ${result.failed} failed, ${skipped} were skipped, in ${result.seconds.size} files and ${result.elapsedSeconds.toFixed(0)} s.`,
  ];
  for (const { reason, tests } of result.skips) lines.push(`  skipped ${tests.length}: ${reason}`);
  lines.push(`${result.retries.length} assertions on time were tried again.`);
  for (const { file, missed, why } of result.retries)
    lines.push(`  ${relative('', file)}: ${missed} missed, ${why}`);
  const longest = [...result.seconds].sort(([, a], [, b]) => b - a).slice(0, LONGEST);
  lines.push('The longest files:', ...longest.map(([path, seconds]) => `  ${seconds.toFixed(1)} s  ${path}`));
  return lines.join('\n');
}
