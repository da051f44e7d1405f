import { relative } from 'node:path';

/** What the command line asks of a run. */
export interface RunOptions {
  /** Only files whose path has one of these; all where there are none. */
  words: readonly string[];
  /** Only as many of the quickest files as fit in a minute, unless words name some. */
  fast: boolean;
  /** Go on, and run a file again when it or what it imports changes. */
  watch: boolean;
  /** The long fuzzers instead, each for so many seconds. */
  fuzzSeconds: string | null;
  /** A skip that is not in the list fails the run. */
  checkSkips: boolean;
  /** Write the seconds of each file to the table that is checked in. */
  saveSeconds: boolean;
  /** Only files that the table lacks. */
  unmeasured: boolean;
  /** What fails is not run again. */
  noSecondTry: boolean;
}

const FUZZ_SECONDS = '60';
const FLAGS = [
  '--fast',
  '--watch',
  '--fuzz',
  '--check-skips',
  '--save-seconds',
  '--unmeasured',
  '--no-second-try',
];

export const USAGE = `\
Usage: npm test [-- [--check-skips] [--no-second-try] [--save-seconds] [--unmeasured] WORD...]
       npm run test:fast [-- [--watch] WORD...]
       npm run fuzz [-- SECONDS WORD...]
A WORD selects the test files whose path contains it.
--save-seconds writes the time of each file into scripts/test-run/seconds.tsv.
--unmeasured selects the files that this table lacks.
Files that fail are run again, alone, where that can tell chance from a fault; --no-second-try leaves that out.`;

/** Throws an error whose message is for the user where a flag is not known. */
export function parseOptions(words: readonly string[]): RunOptions {
  const unknown = words.find((word) => word.startsWith('-') && !FLAGS.includes(word));
  if (unknown !== undefined) throw new Error(`There is no option ${unknown}.\n${USAGE}`);
  const has = (flag: string) => words.includes(flag);
  const isSeconds = (word: string) => has('--fuzz') && /^\d+$/.test(word);
  return {
    // A path as a shell completes it, or as an editor copies it.
    words: words
      .filter((word) => !word.startsWith('-') && !isSeconds(word))
      .map((word) => relative('', word)),
    fast: has('--fast'),
    watch: has('--watch'),
    fuzzSeconds: has('--fuzz') ? (words.find(isSeconds) ?? FUZZ_SECONDS) : null,
    checkSkips: has('--check-skips'),
    saveSeconds: has('--save-seconds'),
    unmeasured: has('--unmeasured'),
    noSecondTry: has('--no-second-try'),
  };
}
