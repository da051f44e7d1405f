// `npm start`: records the demo program, prints its hottest functions and what was lost, and draws a flame
// graph. `npm start -- VERB ...`: that verb, where npm was called.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const cli = join(root, 'packages/node/bin/counterpoint.js');
const bundle = join(root, 'packages/node/dist/cli.js');
const demo = join(root, 'examples/demo/main.js');

/** Runs a Node script with our terminal and gives its exit status. */
function node(folder, ...words) {
  const { status, error } = spawnSync(process.execPath, words, { cwd: folder, stdio: 'inherit' });
  if (error) throw error;
  return status ?? 1;
}

/** Runs a verb in the output folder, shown as one would type it. */
function counterpoint(...words) {
  console.log(`\n$ counterpoint ${words.join(' ').replace(process.execPath, 'node')}`);
  return node(folder, cli, ...words);
}

function newestSourceMs(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? newestSourceMs(path) : statSync(path).mtimeMs);
  }
  return newest;
}

function buildIfNeeded() {
  const sources = ['packages/core/src', 'packages/trace/src', 'packages/node/src'].map((folder) =>
    join(root, folder),
  );
  const newest = Math.max(...sources.map(newestSourceMs));
  if (existsSync(bundle) && (statSync(bundle).mtimeMs >= newest || !isWritable(dirname(bundle)))) return;
  console.log('Building once …');
  const status = node(root, join(root, 'scripts/bundle.mjs'));
  if (status !== 0) process.exit(status);
}

function isWritable(path) {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Beside the sources; or, in a checkout that belongs to somebody else, among the temporary files. */
function outputFolder() {
  const inCheckout = join(root, 'counterpoint-demo');
  for (const folder of [inCheckout, join(tmpdir(), `counterpoint-demo-${process.getuid()}`)]) {
    try {
      mkdirSync(folder, { recursive: true });
      if (isWritable(folder)) return folder;
    } catch {
      // Not ours to write to.
    }
  }
  throw new Error(`neither ${inCheckout} nor ${tmpdir()} can be written`);
}

buildIfNeeded();
const words = process.argv.slice(2);
if (words.length > 0) process.exit(node(process.env.INIT_CWD ?? process.cwd(), cli, ...words));
// Everything that the demo, V8 and the recorder leave behind lands in one folder.
const folder = outputFolder();
const data = join(folder, 'perf.data');
console.log(`\n$ cd ${relative(process.cwd(), folder)}`);

const startedMs = Date.now();
const recorded = counterpoint('record', '-g', '--', process.execPath, relative(folder, demo));
if (recorded !== 0 || !existsSync(data) || statSync(data).mtimeMs < startedMs) {
  console.log('\nNothing was recorded. This is what the machine says of itself:');
  counterpoint('doctor');
  process.exit(recorded || 1);
}
const reported = counterpoint('report', '--no-children', '--limit', '20');
const drawn = counterpoint('export', '--js', '-o', 'flame.svg');
if (reported !== 0 || drawn !== 0) process.exit(reported || drawn);

console.log(`
The flame graph is ${join(folder, 'flame.svg')}
  Open it in a browser: click to zoom, Ctrl-F to search, hover for numbers.
The recording is ${data}
  Try npx counterpoint report --tree=callers -i ${data}`);
