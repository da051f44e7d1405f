/**
 * A run that ends within its minute, also where a machine is slower than the table of seconds says: the files
 * run in parts, and a part that would take too long is left out, and said.
 */
import { CONCURRENCY } from './files.ts';
import type { TestRun } from './run.ts';
import type { SecondsTable } from './seconds.ts';

/** A little of the minute is for npm and the start. */
const LIMIT_SECONDS = 56;
/** Of a part, by the table. */
const PART_SECONDS = 6;
/**
 * Of the first part; each of the next ones is twice as long. So little is run before it is known how fast
 * this machine is: one that takes twenty times as long is done with it in ten seconds.
 */
const FIRST_PART_SECONDS = 1;

export interface PartialRun extends TestRun {
  /** Files that there was no time for. */
  left: readonly string[];
  /** How many times as long this machine takes as the table says. */
  slowness: number;
}

/**
 * Files in the order given: short parts first, then parts that take about as long as each other by the table.
 */
export function partsOf(
  files: readonly string[],
  table: SecondsTable,
  partSeconds: number = PART_SECONDS,
): string[][] {
  const parts: string[][] = [];
  let [room, next] = [0, FIRST_PART_SECONDS];
  for (const path of files) {
    if (room <= 0) {
      parts.push([]);
      room = Math.min(next, partSeconds);
      next *= 2;
    }
    parts.at(-1)!.push(path);
    room -= table.get(path) ?? 0;
  }
  return parts;
}

/** `table` has seconds for each of the files; `goneSeconds` of the minute are over. */
export async function runWithin(
  files: readonly string[],
  table: SecondsTable,
  run: (files: string[]) => Promise<TestRun>,
  goneSeconds: number = 0,
): Promise<PartialRun> {
  const limitSeconds = LIMIT_SECONDS - goneSeconds;
  const parts = partsOf(files, table);
  const secondsOf = (part: readonly string[]) =>
    part.reduce((sum, path) => sum + table.get(path)!, 0) / CONCURRENCY;
  const runs: TestRun[] = [];
  let [elapsed, foreseen, slowness] = [0, 0, 1];
  for (const part of parts) {
    const seconds = secondsOf(part);
    if (elapsed + seconds * slowness > limitSeconds) break;
    const result = await run(part);
    runs.push(result);
    elapsed += result.elapsedSeconds;
    foreseen += seconds;
    slowness = elapsed / foreseen;
  }
  const joined = {
    files: runs.flatMap(({ files }) => files),
    retries: runs.flatMap(({ retries }) => retries),
    elapsedSeconds: elapsed,
  };
  return { ...joined, left: parts.slice(runs.length).flat(), slowness };
}

/** Empty where everything ran. */
export function leftOut({ left, slowness }: PartialRun): string {
  if (left.length === 0) return '';
  return `\n${left.length} files were not run, because the minute was over: this machine takes ${slowness.toFixed(1)} times as long as foreseen.
The next run chooses by what this one measured. npm test runs all.`;
}
