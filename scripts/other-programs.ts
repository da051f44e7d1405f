/**
 * `npm run programs`: programs that others wrote, into `.programs` (150 MB), for `npm run bench overlap`.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The last TypeScript that is written in JavaScript has a 5 or 6 in front; 7 is a binary. */
const PACKAGES = {
  eslint: '9.39.5',
  express: '5.3.0',
  fastify: '5.12.8',
  prettier: '3.10.1',
  typescript: '5.6.3',
  webpack: '5.113.0',
};
export const PROGRAMS_FOLDER = fileURLToPath(new URL('../.programs', import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(PROGRAMS_FOLDER, { recursive: true });
  const manifest = { private: true, dependencies: PACKAGES };
  writeFileSync(join(PROGRAMS_FOLDER, 'package.json'), JSON.stringify(manifest));
  const words = ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
  process.exitCode = spawnSync('npm', words, { cwd: PROGRAMS_FOLDER, stdio: 'inherit' }).status ?? 1;
}
