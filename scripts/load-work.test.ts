/**
 * What modules of the pure packages do when they are loaded. A bundler keeps that work, and all it calls,
 * even where nothing of the module is used. Packages say `sideEffects: false`, but a chunk that is used in
 * part is kept with the work of all its modules: that has made pages larger without a word.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const { inlineConstants } = (await import(new URL('inline-constants.mjs', import.meta.url).href)) as {
  inlineConstants: Plugin;
};
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Modules that did such work when this was first checked. A line goes when its module does no more. */
const KNOWN = readFileSync(new URL('load-work.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');

/** A sum of two constants is not worth a line. */
const MOST_BYTES = 120;

/** As if no package promised anything: what stays is what esbuild sees to do something. */
const promiseNothing: Plugin = {
  name: 'promise-nothing',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /./ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === promiseNothing) return undefined;
      const found = await resolve(path, { kind, importer, resolveDir, pluginData: promiseNothing });
      return { ...found, sideEffects: true };
    });
  },
};

/** The modules of which something is left in a bundle that uses none of their names. */
async function modulesThatWork(contents: string, resolveDir = ROOT): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents, resolveDir, loader: 'ts' },
    absWorkingDir: ROOT,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'node20',
    conditions: ['counterpoint-source'],
    minifySyntax: true,
    metafile: true,
    write: false,
    outfile: 'bundle.js',
    logLevel: 'silent',
    plugins: [promiseNothing, inlineConstants],
  });
  const [output] = Object.values(metafile.outputs);
  return Object.entries(output!.inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > MOST_BYTES)
    .map(([path]) => path)
    .sort();
}

test('a table that is filled by a call is seen, and one that is marked as pure is not', async () => {
  const table = (mark: string) =>
    `const filled = () => [${Array.from({ length: 99 }, (_, at) => at)}].map((value) => value * 2); const table = ${mark} filled()`;
  assert.deepEqual(await modulesThatWork(table('')), ['<stdin>']);
  assert.deepEqual(await modulesThatWork(table('/* @__PURE__ */')), []);
});

test('no other module of the pure packages works when it is loaded', async () => {
  const entries = ['core', 'trace'].flatMap((name) =>
    readdirSync(`${ROOT}/packages/${name}/src/entries`)
      .filter((file) => file.endsWith('.ts') && !file.includes('worker'))
      .map((file) => `import './packages/${name}/src/entries/${file}';`),
  );
  const found = (await modulesThatWork(entries.join('\n'))).filter((path) => path.startsWith('packages/'));
  const added = found.filter((path) => !KNOWN.includes(path));
  assert.deepEqual(
    added,
    [],
    'put /* @__PURE__ */ before the call, or make the value where it is first needed',
  );
  const gone = KNOWN.filter((path) => !found.includes(path));
  assert.deepEqual(gone, [], 'well done: take these lines out of scripts/load-work.txt');
});
