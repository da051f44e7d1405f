/**
 * Failed files again, alone, one at a time. What fails by chance on a busy machine passes then; what is
 * broken does not. Nothing is hidden: the first message and the load stand at the end of the run.
 *
 *     failed ──> again ── passed ──> again ── passed ──> passed at a second try
 *                  │ failed            │ failed
 *                  └──> the same once  └──> failed
 *                       more, or failed
 */
import type { FileRun } from './one-file.ts';
import { failedFiles, type TestRun } from './run.ts';

/** More failed files than these are no chance. */
const MOST_FILES = 6;
const MOST_TRIES = 3;
/** Passes in a row that are wanted. */
const ENOUGH_PASSES = 2;

/** A file that failed in the run and passed alone. */
export interface SecondTry {
  first: FileRun;
  /** The runs alone, the last of which passed. */
  again: FileRun[];
}

export interface TriedAgain {
  /** The run, with the files that passed later in the place of what they were at first. */
  result: TestRun;
  passedLater: SecondTry[];
  /** Why there was no other try, or what a file did in it, a line each. */
  refusals: string[];
}

/** `isCertain`: whether the file of the path cannot fail by chance. `run` runs one file alone. */
export async function tryAgain(
  result: TestRun,
  isCertain: (path: string) => boolean,
  run: (path: string) => Promise<TestRun>,
): Promise<TriedAgain> {
  const failed = failedFiles(result);
  const refusals = refusalsOf(failed, isCertain);
  const passedLater: SecondTry[] = [];
  if (refusals.length > 0) return { result, passedLater, refusals };
  const files = new Map(result.files.map((file) => [file.path, file]));
  const runs = [result];
  for (const first of failed) {
    const tries = await tryAlone(() => run(first.path));
    const again = tries.flatMap((one) => one.files);
    runs.push(...tries);
    if (passesInARow(again) === ENOUGH_PASSES) {
      passedLater.push({ first, again });
      files.set(first.path, again.at(-1)!);
    } else refusals.push(`${first.path}: failed again, alone (${again.map(wordOf).join('; ')}).`);
  }
  const joined = {
    files: [...files.values()],
    retries: runs.flatMap(({ retries }) => retries),
    elapsedSeconds: runs.reduce((sum, { elapsedSeconds }) => sum + elapsedSeconds, 0),
  };
  return { result: joined, passedLater, refusals };
}

/** What makes a run red at once. */
function refusalsOf(failed: readonly FileRun[], isCertain: (path: string) => boolean): string[] {
  if (failed.length > MOST_FILES)
    return [`${failed.length} files failed. Where more than ${MOST_FILES} fail, none is tried again.`];
  return failed.flatMap(({ path, end }) => {
    if (end !== 'ended') return [`${path}: ${end}. Such a file is not tried again.`];
    if (path.endsWith('.fuzz.ts')) return [`${path}: what a fuzzer finds is not tried again.`];
    if (isCertain(path))
      return [`${path}: it starts nothing and reads no clock, so it fails always. It is not tried again.`];
    return [];
  });
}

/** Until it has passed often enough, or cannot any more. */
async function tryAlone(run: () => Promise<TestRun>): Promise<TestRun[]> {
  const tries: TestRun[] = [];
  for (let left = MOST_TRIES; left > 0; left--) {
    tries.push(await run());
    const files = tries.flatMap((one) => one.files);
    const wanted = ENOUGH_PASSES - passesInARow(files);
    if (wanted === 0 || wanted > left - 1 || files.at(-1)!.end !== 'ended') break;
  }
  return tries;
}

/** At the end. */
function passesInARow(files: readonly FileRun[]): number {
  const lastFailure = files.findLastIndex(({ failures }) => failures.length > 0);
  return files.length - 1 - lastFailure;
}

function wordOf({ failures }: FileRun): string {
  return failures.length === 0 ? 'passed' : `failed: ${failures[0]!.name}`;
}
