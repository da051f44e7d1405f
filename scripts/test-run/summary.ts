/** The last lines of a run: what failed, what was skipped, what was tried again, how long it took. */
import { relative } from 'node:path';
import { loadText } from './load.ts';
import type { FileRun } from './one-file.ts';
import { costText, failedFiles, type TestRun } from './run.ts';
import type { SecondTry, TriedAgain } from './second-try.ts';
import type { Skips } from './skips.ts';

/** Files that are named as the longest. */
const LONGEST = 10;
/** Of a message, what is repeated at the end; all of it stands where the file ended. */
const MESSAGE_LINES = 12;

export function summary({ result, passedLater, refusals }: TriedAgain): string {
  const { files, retries, elapsedSeconds } = result;
  const { passed, failed, skipped } = totals(result);
  const lines = ['', ...failedFiles(result).flatMap(failureLines)];
  lines.push(
    `${passed} tests passed, ${failed} failed, ${skipped} were skipped, in ${files.length} files and ${elapsedSeconds.toFixed(0)} s.`,
  );
  for (const { reason, tests } of skipsOf(result)) lines.push(`  skipped ${tests.length}: ${reason}`);
  lines.push(`${retries.length} assertions on time were tried again.`);
  for (const { file, missed, why } of retries)
    lines.push(`  ${relative('', file)}: ${missed} missed, ${why}`);
  const longest = [...files].sort((a, b) => b.seconds - a.seconds).slice(0, LONGEST);
  lines.push('The longest files:', ...longest.map((run) => `  ${costText(run)}  ${run.path}`));
  if (passedLater.length > 0) lines.push(`${passedLater.length} files passed at a second try:`);
  lines.push(...passedLater.flatMap(secondTryLines), ...refusals);
  // What counts a run by its last line reads this one.
  lines.push(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return lines.join('\n');
}

function totals({ files }: TestRun) {
  const sum = (count: (run: FileRun) => number) => files.reduce((total, run) => total + count(run), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failures }) => failures.length),
    skipped: sum(({ skipped }) => skipped.length),
  };
}

export function skipsOf({ files }: TestRun): Skips[] {
  const tests = new Map<string, string[]>();
  for (const { path, skipped } of files)
    for (const { name, reason } of skipped)
      tests.set(reason, [...(tests.get(reason) ?? []), `${path}: ${name}`]);
  return [...tests].map(([reason, names]) => ({ reason, tests: names }));
}

function failureLines({ path, failures }: FileRun): string[] {
  return failures.flatMap(({ name, message }) => [`✖ ${path}: ${name}`, ...shortened(message), '']);
}

/** What such a file was at first. */
export function secondTryLines({ first, again }: SecondTry): string[] {
  const failedAgain = again.filter(({ failures }) => failures.length > 0).length;
  const times = failedAgain === 0 ? '' : `, after it had failed ${failedAgain + 1} times`;
  const [{ name, message } = { name: '', message: '' }] = first.failures;
  return [
    `  ${first.path}: passed twice in a row, alone${times}. At first (${loadText(first.load)}):`,
    `    ${name}`,
    ...shortened(message).map((line) => `  ${line}`),
  ];
}

function shortened(message: string): string[] {
  const lines = message.split('\n');
  const left = lines.length - MESSAGE_LINES;
  const shown = lines.slice(0, MESSAGE_LINES).map((line) => `    ${line.slice(0, 300)}`);
  return left > 0 ? [...shown, `    (${left} more lines)`] : shown;
}
