// `npm run docs`: the site of docs/ into docs/.vitepress/dist, with the API reference (docs/api) made from
// the types; `npm run docs -- preview` serves it to this machine (`scripts/serve-site.mjs`), and
// `npm run docs -- dev` shows it while it is written. A dead link fails the build, also one to a place in a
// page (`scripts/check-anchors.mjs`).
//
// VitePress is no dependency of the project: it is installed here, where the site is built, as
// docs/package-lock.json has it. Rollup is pinned beside it: of later versions the registry does not have the
// builds for all systems, and npm leaves those out of the lock file, which `npm ci` then refuses.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { previewSite } from './serve-site.mjs';

const LOCK = 'docs/package-lock.json';
/** What npm writes at the end of an installation. */
const INSTALLED = 'docs/node_modules/.package-lock.json';

const [command = 'build', ...words] = process.argv.slice(2);
const run = (file, ...words) => spawnSync(file, words, { stdio: 'inherit' }).status ?? 1;
const isInstalled = existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs;
const steps = [
  () => (isInstalled ? 0 : run('npm', 'ci', '--prefix', 'docs', '--loglevel=error')),
  () => run('npm', 'run', '--silent', 'docs:api'),
  () => run(process.execPath, 'docs/node_modules/vitepress/bin/vitepress.js', command, 'docs', ...words),
  () => (command === 'build' ? run(process.execPath, 'scripts/check-anchors.mjs') : 0),
];
if (command === 'preview') await previewSite(words);
else process.exitCode = steps.reduce((status, step) => status || step(), 0);
// Its links have no `.html`: a file browser and most simple servers do not find the pages.
if (command === 'build' && process.exitCode === 0)
  console.log('The site is in docs/.vitepress/dist. To look at it: npm run docs -- preview');
