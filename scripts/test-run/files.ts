/** Which test files a run has, and in which order. */
import { dirname } from 'node:path';
import type { SecondsTable } from './seconds.ts';

/** Files that run at one time. */
export const CONCURRENCY = 2;
/** Of the minute that a fast run may take, what its files may; the rest is for what goes wrong. */
const FAST_SECONDS = 42;
/** A file that nobody has measured is new: whoever wrote it wants it to run. */
const UNMEASURED_SECONDS = 0.5;

/** The files whose path has one of the words; all where there are no words. */
export function filesByWords(files: readonly string[], words: readonly string[]): string[] {
  return files.filter((path) => words.length === 0 || words.some((word) => path.includes(word)));
}

/** The test files in the folders of the sources that the words name. */
export function testsBeside(files: readonly string[], words: readonly string[]): string[] {
  const folders = words.filter((word) => word.endsWith('.ts')).map((word) => dirname(word));
  return files.filter((path) => folders.includes(dirname(path)));
}

/** As many of the quickest as end within the time of a fast run. */
export function quickestFiles(files: readonly string[], table: SecondsTable): string[] {
  let left = FAST_SECONDS * CONCURRENCY;
  return [...files]
    .sort((a, b) => secondsOf(table, a) - secondsOf(table, b))
    .filter((path) => {
      left -= secondsOf(table, path);
      return left >= 0;
    });
}

/** The longest first: then none is left alone at the end. */
export function longestFirst(files: readonly string[], table: SecondsTable): string[] {
  return [...files].sort((a, b) => secondsOf(table, b) - secondsOf(table, a));
}

/** Measured or assumed seconds of the file. */
export function secondsOf(table: SecondsTable, path: string): number {
  return table.get(path) ?? UNMEASURED_SECONDS;
}
