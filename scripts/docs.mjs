// `npm run docs`: the site of docs/ into docs/.vitepress/dist, with the API reference (docs/api) made from
// the types; `npm run docs -- dev` shows it while it is written. VitePress is no dependency of the project:
// it is installed here, where the site is built. A dead link fails the build.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const [command = 'build', ...words] = process.argv.slice(2);
const run = (file, ...words) => spawnSync(file, words, { stdio: 'inherit' }).status ?? 1;
const installed = existsSync('docs/node_modules/vitepress')
  ? 0
  : run(
      'npm',
      'install',
      '--no-package-lock',
      '--prefix',
      'docs',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    );
const prepared = installed === 0 ? run('npm', 'run', '--silent', 'docs:api') : installed;
process.exitCode =
  prepared === 0
    ? run(process.execPath, 'docs/node_modules/vitepress/bin/vitepress.js', command, 'docs', ...words)
    : prepared;
