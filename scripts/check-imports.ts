/**
 * The import fence of `floors.ts`. Another package is imported by its name; only
 * one room sees the FFI library.
 */
import { readFileSync } from 'node:fs';
import { globSync } from './glob.ts';
import { fenceProblems } from './import-fence.ts';

const paths = globSync(['packages'], /\.ts$/);
const problems = fenceProblems(new Map(paths.map((path) => [path, readFileSync(path, 'utf8')])));
if (problems.length > 0) {
  console.error(`Import fence:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  process.exit(1);
}
