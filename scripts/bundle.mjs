// Bundles what is published. Named constants are inlined here, with a plugin (measured: a switch over
// imported names costs 3-4 times one over literals), and `using` is lowered for Node 20.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { inlineConstants } from './inline-constants.mjs';

const core = 'packages/core';
const node = 'packages/node';
const rooms = readdirSync(`${core}/src`, { recursive: true })
  .map(String)
  .filter((path) => path.endsWith('/index.ts'));

/** Of the package `counterpoint`: a file for each line of its export map. */
const entries = readdirSync(`${node}/src/entries`)
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.slice(0, -'.ts'.length));

const common = {
  bundle: true,
  format: 'esm',
  target: 'node20',
  splitting: true,
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  conditions: ['counterpoint-source'],
  chunkNames: 'chunks/[name]-[hash]',
  plugins: [inlineConstants],
};

for (const dir of [core, node]) {
  for (const name of existsSync(`${dir}/dist`) ? readdirSync(`${dir}/dist`) : []) {
    if (name.endsWith('.js') || name.endsWith('.js.map') || name === 'chunks' || name === 'help') {
      rmSync(`${dir}/dist/${name}`, { recursive: true });
    }
  }
}

await build({
  ...common,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  entryPoints: [
    { in: `${core}/src/index.ts`, out: 'index' },
    ...rooms.map((path) => ({ in: `${core}/src/${path}`, out: path.slice(0, -'/index.ts'.length) })),
  ],
  outdir: `${core}/dist`,
});

await build({
  ...common,
  platform: 'node',
  external: ['koffi', '@swc/wasm-typescript'],
  entryPoints: [
    ...entries.map((name) => ({ in: `${node}/src/entries/${name}.ts`, out: name })),
    { in: `${node}/src/cli/main.ts`, out: 'cli' },
    { in: `${node}/src/trace/part-worker.ts`, out: 'pt-worker' },
    { in: `${node}/src/sampling/module-hooks.ts`, out: 'module-hooks' },
  ],
  outdir: `${node}/dist`,
});

// Help as files: `bin/counterpoint` shows it without starting Node.
const { helpTexts } = await import(new URL(`../${node}/dist/cli.js`, import.meta.url));
mkdirSync(`${node}/dist/help`);
for (const [name, text] of await helpTexts()) writeFileSync(`${node}/dist/help/${name}.txt`, text);
