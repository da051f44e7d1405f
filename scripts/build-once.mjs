// What `prepack` of each package runs: `npm pack --workspaces` would build all of them three times. A build
// that was completed behind the last change of the sources stands.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** The last thing that a build writes (bundle.mjs). */
const COMPLETE = join(root, 'dist/complete');
const SOURCES = ['packages/core/src', 'packages/trace/src', 'packages/node/src', 'scripts', 'examples'];
const FILES = ['package.json', 'tsconfig.json', 'tsconfig.base.json'];

/** Of a folder: of all in it, and its own, which a removed file changes. */
function changedMs(path) {
  const facts = statSync(path);
  if (!facts.isDirectory()) return facts.mtimeMs;
  return Math.max(facts.mtimeMs, ...readdirSync(path).map((name) => changedMs(join(path, name))));
}

const changed = Math.max(...[...SOURCES, ...FILES].map((name) => changedMs(join(root, name))));
if (!existsSync(COMPLETE) || statSync(COMPLETE).mtimeMs <= changed) {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  process.exit(status ?? 1);
}
