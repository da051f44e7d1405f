import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/**
 * Names of devices on Windows, with any ending, in either case, and characters and ends that it refuses
 * (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
 */
const REFUSED = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$|[<>:"\\|?*]|[. ]$/i;

test('every file system takes the names of the files', () => {
  const paths = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '');
  assert.ok(paths.length > 1000);
  assert.deepEqual(
    paths.filter((path) => path.split('/').some((name) => REFUSED.test(name))),
    [],
  );
  // Nor are two names one where case does not count.
  const folded = new Set(paths.map((path) => path.toLowerCase()));
  assert.equal(folded.size, paths.length);
});
