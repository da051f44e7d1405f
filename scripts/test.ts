/**
 * Runs every test file under `node:test` through tsx. `--fuzz [SECONDS]` runs the long fuzzers
 * instead; other words filter by path.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from './glob.ts';

const words = process.argv.slice(2);
const fuzz = words.includes('--fuzz');
const filters = words.filter((word) => !word.startsWith('--') && !/^\d+$/.test(word));
const pattern = fuzz ? /\.fuzz\.ts$/ : /\.(test|fuzz)\.ts$/;
const files = globSync(['packages', 'scripts', 'bench'], pattern).filter(
  (path) => filters.length === 0 || filters.some((filter) => path.includes(filter)),
);
if (files.length === 0) {
  console.error(`No test file matches ${filters.join(' ')}.`);
  process.exit(1);
}
const seconds = words.find((word) => /^\d+$/.test(word));
const result = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--conditions=counterpoint-source', '--test', '--test-concurrency=2', ...files],
  { stdio: 'inherit', env: { ...process.env, ...(fuzz ? { FUZZ_SECONDS: seconds ?? '60' } : {}) } },
);
process.exit(result.status ?? 1);
