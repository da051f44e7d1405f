/** Programs for `bench overlap`: what people run under Node, some of it their own, most of it not ours. */

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { PROGRAMS_FOLDER } from '../scripts/other-programs.ts';

export interface OverlapProgram {
  name: string;
  /** The words behind `node`; may write into `folder`. */
  words(folder: string): string[];
  /** What it is asked while it runs. */
  load?(folder: string, isOver: AbortSignal): Promise<void>;
  /** Its workers count, too. */
  hasWorkers?: true;
}

const own = (file: string) => fileURLToPath(new URL(`javascript-programs/${file}`, import.meta.url));
const installed = (...path: string[]) => join(PROGRAMS_FOLDER, 'node_modules', ...path);

function scriptsOf(folder: string, pattern: RegExp): string[] {
  const names = readdirSync(folder).sort();
  return names.filter((name) => pattern.test(name)).map((name) => join(folder, name));
}

function smallFunctions(folder: string): string {
  const path = join(folder, 'small-functions.cjs');
  const source = readFileSync(own('small-functions.ts'), 'utf8');
  // esbuild compiles no generators away: engines that have them, as tsc's `target: es2015`.
  writeFileSync(path, transformSync(source, { loader: 'ts', format: 'cjs', target: 'es2015' }).code);
  return path;
}

/** eslint leaves out what is in `node_modules`: a copy, and every rule that comes with it. */
function lintedCopy(folder: string): string[] {
  const sources = join(folder, 'linted');
  mkdirSync(sources, { recursive: true });
  for (const path of scriptsOf(installed('webpack/lib'), /^[A-M].*\.js$/))
    copyFileSync(path, join(sources, basename(path)));
  const rules = JSON.stringify(installed('@eslint/js/src/index.js'));
  writeFileSync(join(folder, 'eslint.config.cjs'), `module.exports = [require(${rules}).configs.all];\n`);
  return scriptsOf(sources, /\.js$/);
}

const REQUESTS = 12_000;
const CONNECTIONS = 16;

/** Asks a server that writes its port into a file, until it has answered all. */
async function askAll(folder: string, isOver: AbortSignal): Promise<void> {
  const file = join(folder, 'port');
  while (!existsSync(file)) {
    if (isOver.aborted) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  const port = Number(readFileSync(file, 'utf8'));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const order = JSON.stringify({ lines: Array.from({ length: 20 }, (_, id) => ({ id, count: id % 3 })) });
  const ask = (count: number) =>
    new Promise<void>((done, failed) => {
      const isOrder = count % 2 === 0;
      const options = { agent, port, host: '127.0.0.1', method: isOrder ? 'POST' : 'GET' };
      const path = isOrder ? '/orders' : `/items/${count % 40}`;
      const headers = isOrder
        ? { 'content-type': 'application/json', 'content-length': String(order.length) }
        : {};
      const request = httpRequest({ ...options, path, headers }, (response) => {
        if (response.statusCode !== 200) failed(new Error(`status ${response.statusCode}`));
        response.resume().on('end', done);
      });
      request.on('error', failed).end(isOrder ? order : undefined);
    });
  let count = 0;
  const connection = async () => {
    while (count < REQUESTS) await ask(count++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  agent.destroy();
}

const server = (name: string): OverlapProgram => ({
  name,
  words: (folder) => [own('server.cjs'), name, String(REQUESTS), join(folder, 'port')],
  load: askAll,
});

export const OVERLAP_PROGRAMS: readonly OverlapProgram[] = [
  {
    name: 'tsc',
    words: () => [
      installed('typescript/lib/tsc.js'),
      ...[
        '--noEmit',
        '--allowJs',
        '--checkJs',
        '--target',
        'esnext',
        '--module',
        'commonjs',
        '--maxNodeModuleJsDepth',
        '0',
      ],
      ...scriptsOf(installed('webpack/lib'), /^[A-M].*\.js$/),
    ],
  },
  {
    name: 'small functions',
    words: (folder) => [smallFunctions(folder), '1500'],
  },
  {
    name: 'prettier',
    words: () => [
      ...[installed('prettier/bin/prettier.cjs'), '--with-node-modules', '--check', '--no-config'],
      ...scriptsOf(installed('webpack/lib'), /^[A-M].*\.js$/),
    ],
  },
  {
    name: 'eslint',
    words: (folder) => [installed('eslint/bin/eslint.js'), '--quiet', '-f', 'json', ...lintedCopy(folder)],
  },
  { name: 'webpack', words: (folder) => [own('webpack.cjs'), join(folder, 'webpack')] },
  server('fastify'),
  server('express'),
  { name: 'regexp', words: () => [own('regexp.mjs'), '2500'] },
  { name: 'garbage', words: () => [own('garbage.mjs'), '1500'] },
  { name: 'async', words: () => [own('async.mjs'), '2000'] },
  { name: 'workers', words: () => [own('workers.mjs'), '1500'], hasWorkers: true },
];
