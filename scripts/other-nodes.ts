/**
 * `npm run nodes`: the oldest and the newest supported versions of Node, into `.nodes` (120 MB each), where
 * the test of the packed packages looks for them.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `engines` says the oldest. */
export const NODE_VERSIONS = ['20.19.0', '22.23.3', '24.21.0', '26.12.1'];
const FOLDER = fileURLToPath(new URL('../.nodes', import.meta.url));

export function nodeProgram(version: string): string {
  return join(FOLDER, 'node_modules', `node-${version}`, 'bin/node');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(FOLDER, { recursive: true });
  const wanted = NODE_VERSIONS.map((version) => [
    `node-${version}`,
    `npm:node-linux-${process.arch}@${version}`,
  ]);
  const manifest = { private: true, dependencies: Object.fromEntries(wanted) };
  writeFileSync(join(FOLDER, 'package.json'), JSON.stringify(manifest));
  const words = ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
  process.exitCode = spawnSync('npm', words, { cwd: FOLDER, stdio: 'inherit' }).status ?? 1;
}
