/** Which test files a run has, and in which order. */
import { dirname } from 'node:path';
import type { SecondsTable } from './seconds.ts';

/** Files that run at one time. */
export const CONCURRENCY = 2;
/** Of the minute that a fast run may take, what its files may; the rest is for what goes wrong. */
const FAST_SECONDS = 42;
/** So many measured files tell what is usual in a folder. */
const ENOUGH_FILES = 3;
/** Where nothing is measured at all. */
const UNMEASURED_SECONDS = 2;

/** The files whose path has one of the words; all where there are no words. */
export function filesByWords(files: readonly string[], words: readonly string[]): string[] {
  return files.filter((path) => words.length === 0 || words.some((word) => path.includes(word)));
}

/** The test files in the folders of the sources that the words name. */
export function testsBeside(files: readonly string[], words: readonly string[]): string[] {
  const folders = words.filter((word) => word.endsWith('.ts')).map((word) => dirname(word));
  return files.filter((path) => folders.includes(dirname(path)));
}

/**
 * As many of the quickest as end within the time of a fast run. What nobody has measured is not quick: some
 * of it takes half a minute, and in a fresh clone dozens of files may be new since the table was written.
 */
export function quickestFiles(files: readonly string[], table: SecondsTable): string[] {
  let left = FAST_SECONDS * CONCURRENCY;
  return files
    .filter((path) => table.has(path))
    .sort((a, b) => table.get(a)! - table.get(b)!)
    .filter((path) => {
      left -= table.get(path)!;
      return left >= 0;
    });
}

/** The longest first: then none is left alone at the end. */
export function longestFirst(files: readonly string[], table: SecondsTable): string[] {
  const seconds = estimates(files, table);
  return [...files].sort((a, b) => seconds.get(b)! - seconds.get(a)!);
}

/**
 * Seconds of each file, measured or estimated. Between two measurings of all files, dozens of new ones come,
 * and some take half a minute: a file that nobody has measured takes as long as is usual in its folder, or in
 * the nearest one above it where enough files are measured.
 */
export function estimates(files: readonly string[], table: SecondsTable): ReadonlyMap<string, number> {
  const usual = new Map<string, number | null>();
  const usualIn = (folder: string): number => {
    let known = usual.get(folder);
    if (known === undefined) usual.set(folder, (known = usualSeconds(folder, table)));
    if (known !== null) return known;
    return folder === '.' ? UNMEASURED_SECONDS : usualIn(dirname(folder));
  };
  return new Map(files.map((path) => [path, table.get(path) ?? usualIn(dirname(path))]));
}

/** The mean of the files in a folder and below it; null: too few are measured. */
function usualSeconds(folder: string, table: SecondsTable): number | null {
  const seconds = [...table]
    .filter(([path]) => folder === '.' || path.startsWith(`${folder}/`))
    .map(([, measured]) => measured);
  if (seconds.length < ENOUGH_FILES) return null;
  return seconds.reduce((sum, one) => sum + one, 0) / seconds.length;
}
