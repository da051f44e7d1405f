/**
 * `npm run test:steady -- FILE...`: each test file ten times beside two busy loops, for at most 30 minutes.
 * Without files: those that differ from the branch `main`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { compileTests } from './test-run/compile.ts';
import { runFile } from './test-run/one-file.ts';
import { busyMachine, runSteady, steadyText } from './test-run/steady.ts';

const USAGE = `\
Usage: npm run test:steady [-- FILE...]
Runs each test file ten times beside two busy loops, 30 minutes at most, and says what failed and what there was
no time for. Without FILE: the test files that differ from the branch main.

  npm run test:steady -- packages/core/src/format/ring/ring.test.ts`;
const TEST_FILE = /\.(test|fuzz)\.ts$/;

function git(...words: string[]): string[] {
  return execFileSync('git', words, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

function changedFiles(): string[] {
  const tracked = git('diff', '--name-only', 'main', '--', '.');
  const added = git('ls-files', '--others', '--exclude-standard');
  return [...new Set([...tracked, ...added])].filter((path) => TEST_FILE.test(path) && existsSync(path));
}

const words = process.argv.slice(2);
const unknown = words.find((word) => word.startsWith('-') || !existsSync(word));
if (unknown !== undefined) {
  const isHelp = unknown === '--help' || unknown === '-h';
  (isHelp ? console.log : console.error)(isHelp ? USAGE : `There is no test file ${unknown}.\n${USAGE}`);
  process.exit(isHelp ? 0 : 1);
}
const files = words.length > 0 ? words : changedFiles();
if (files.length === 0) {
  console.log('No test file differs from main.');
  process.exit(0);
}
using compiled = await compileTests(files);
using _busy = busyMachine();
const found = await runSteady(files, async (path) => {
  const run = await runFile(path, { compiled });
  const what = run.failures.length === 0 ? 'passed' : 'FAILED';
  console.log(`${what} ${run.seconds.toFixed(1)} s ${path}${what === 'passed' ? '' : `\n${run.output}`}`);
  return run;
});
console.log(steadyText(found));
process.exitCode = found.some(({ runs }) => runs.some(({ failures }) => failures.length > 0)) ? 1 : 0;
