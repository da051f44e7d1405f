/**
 * The tests, under `node:test` through tsx: all (`npm test`), the quickest (`--fast`), those named by
 * words. See test-run/README.md.
 */
import { readFileSync } from 'node:fs';
import { globSync } from './glob.ts';
import { isCertain } from './test-run/certain.ts';
import { compileTests } from './test-run/compile.ts';
import { estimates, filesByWords, longestFirst, quickestFiles, testsBeside } from './test-run/files.ts';
import { parseOptions, type RunOptions } from './test-run/options.ts';
import { runFiles, secondsOfRun, type TestRun } from './test-run/run.ts';
import { type TriedAgain, tryAgain } from './test-run/second-try.ts';
import {
  knownSeconds,
  LOCAL_SECONDS,
  mergeSeconds,
  readSeconds,
  SAVED_SECONDS,
  writeSeconds,
} from './test-run/seconds.ts';
import { checkSkips, needlessSkips, parseAllowedSkips } from './test-run/skips.ts';
import { skipsOf, summary } from './test-run/summary.ts';
import { watchTests } from './test-run/watch.ts';
import { leftOut, type PartialRun, runWithin } from './test-run/within.ts';

const ROOTS = ['packages', 'scripts', 'bench'];
const SKIPS = 'scripts/test-run/skips.tsv';

const options = readOptions();
const files = chooseFiles(options);
if (files.length === 0) fail(options.unmeasured ? 'Every test file is measured.' : noFile(options.words));
if (options.fast && options.words.length === 0) sayQuickest(files);
if (options.fuzzSeconds !== null) process.env['FUZZ_SECONDS'] = options.fuzzSeconds;
if (options.watch)
  await watchTests(
    ROOTS,
    () => chooseFiles(options),
    async (paths) => console.log(summary(onlyTry(await runFiles(paths)))),
  );
else if (options.fast && options.words.length === 0) await finishWithinMinute(files);
else finish(await (hasSecondTries(options) ? withSecondTries : onlyTry)(await runFiles(files)));

function readOptions(): RunOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    return fail((error as Error).message);
  }
}

function chooseFiles({ words, fast, fuzzSeconds, unmeasured }: RunOptions): string[] {
  const pattern = fuzzSeconds !== null ? /\.fuzz\.ts$/ : /\.(test|fuzz)\.ts$/;
  const saved = readSeconds(SAVED_SECONDS);
  const all = filesByWords(globSync(ROOTS, pattern), words).filter(
    (path) => !(unmeasured && saved.has(path)),
  );
  const table = knownSeconds();
  if (!fast || words.length > 0) return longestFirst(all, table);
  return longestFirst(quickestFiles(all, table), table);
}

function sayQuickest(chosen: readonly string[]): void {
  const table = knownSeconds();
  const all = globSync(ROOTS, /\.(test|fuzz)\.ts$/);
  const seconds = estimates(all, table);
  const sum = (paths: readonly string[]) =>
    paths.reduce((total, path) => total + (seconds.get(path) ?? 0), 0).toFixed(0);
  const unmeasured = all.filter((path) => !table.has(path)).length;
  const left = unmeasured === 0 ? '' : ` ${unmeasured} are left out, because nobody has measured them yet.`;
  console.log(
    `The quickest ${chosen.length} of ${all.length} test files: ${sum(chosen)} s of ${sum(all)}.${left} npm test runs all.`,
  );
}

/** Who names a source wants its tests. */
function noFile(words: readonly string[]): string {
  const beside = testsBeside(globSync(ROOTS, /\.test\.ts$/), words);
  const hint = beside.length === 0 ? '' : `\nIn the same folder:\n  ${beside.join('\n  ')}`;
  return `No test file has ${words.join(' or ')} in its path.${hint}`;
}

/** Who runs a few files, or a fuzzer, wants to see what fails. */
function hasSecondTries({ fast, fuzzSeconds, noSecondTry }: RunOptions): boolean {
  return !fast && fuzzSeconds === null && !noSecondTry;
}

function onlyTry(result: TestRun): TriedAgain {
  return { result, passedLater: [], refusals: [] };
}

async function withSecondTries(result: TestRun): Promise<TriedAgain> {
  const paths = globSync(ROOTS, /\.(ts|mjs)$/);
  const texts = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
  return tryAgain(
    result,
    (path) => isCertain(path, texts),
    (path) => {
      console.log(`\nOnce more, alone: ${path}`);
      return runFiles([path]);
    },
  );
}

async function finishWithinMinute(chosen: readonly string[]): Promise<void> {
  const result = await runQuickest(chosen);
  console.log(leftOut(result));
  finish(onlyTry(result));
}

/** The quickest first: then most has run where the minute is over before all have. */
async function runQuickest(chosen: readonly string[]): Promise<PartialRun> {
  const table = knownSeconds();
  const begin = performance.now();
  using compiled = await compileTests(chosen);
  const compileSeconds = (performance.now() - begin) / 1000;
  const quickestFirst = longestFirst(chosen, table).reverse();
  return await runWithin(quickestFirst, table, (part) => runFiles(part, compiled), compileSeconds);
}

/** The closing line comes last. */
function finish(tried: TriedAgain): void {
  const { result } = tried;
  const problems = options.checkSkips ? skipProblems(result) : [];
  console.log(summary(tried));
  const failed = result.files.some(({ failures }) => failures.length > 0);
  const seconds = secondsOfRun(result);
  const save = (path: string) => writeSeconds(path, mergeSeconds(readSeconds(path), seconds));
  if (options.fuzzSeconds === null) save(LOCAL_SECONDS);
  if (options.saveSeconds) save(SAVED_SECONDS);
  process.exit(failed || problems.length > 0 ? 1 : 0);
}

/** Prints what the list and the run differ in, and gives what fails the run. */
function skipProblems(result: TestRun): string[] {
  const skips = skipsOf(result);
  const allowed = parseAllowedSkips(readFileSync(SKIPS, 'utf8'));
  for (const line of needlessSkips(skips, allowed)) console.log(line);
  const problems = checkSkips(skips, allowed);
  for (const line of problems) console.error(line);
  return problems;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
