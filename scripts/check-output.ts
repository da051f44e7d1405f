/** The fence around standard output and standard error; its rules are in `output-rules.ts`. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { globSync } from './glob.ts';
import { outputProblems, unusedExceptions } from './output-rules.ts';

const ROOT = 'packages/node/src';
const files = new Map(
  globSync([ROOT], /\.ts$/)
    .map((path) => relative(ROOT, path))
    .filter((path) => !/\.(?:test|fuzz|pmu)\.ts$/.test(path) && !path.startsWith('test/'))
    .map((path) => [path, readFileSync(`${ROOT}/${path}`, 'utf8')] as const),
);
const problems = [
  ...[...files].flatMap(([path, text]) => outputProblems(path, text)),
  ...unusedExceptions(files),
];
if (problems.length > 0) {
  console.error(`Output fence:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  console.error('  Print by the Output that a verb is given: out.line, err.line, out.json, out.utf8.');
  process.exit(1);
}
