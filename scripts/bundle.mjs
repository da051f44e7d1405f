// Bundles what is published. Named constants are inlined here, with a plugin (measured: a switch over
// imported names costs 3-4 times one over literals), and `using` is lowered for Node 20.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { inlineConstants } from './inline-constants.mjs';
import { NODE_PROGRAMS } from './node-programs.mjs';

const core = 'packages/core';
const trace = 'packages/trace';
const node = 'packages/node';
const WORKER = 'intel-pt-worker';

/** Of a package: a file for each line of its export map. */
const entriesOf = (dir) =>
  readdirSync(`${dir}/src/entries`)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => path.slice(0, -'.ts'.length))
    .map((name) => ({ in: `${dir}/src/entries/${name}.ts`, out: name }));

/**
 * The constants of `core/format/abi` are inlined; of the rest there shall be one
 * copy where both packages are.
 */
const coreOutside = {
  name: 'core-outside',
  setup({ onResolve }) {
    onResolve({ filter: /^@counterpoint\/core\// }, ({ path }) =>
      path === '@counterpoint/core/abi' ? undefined : { external: true, sideEffects: false },
    );
  },
};

const common = {
  bundle: true,
  format: 'esm',
  target: 'node20',
  splitting: true,
  minifySyntax: true,
  sourcemap: 'external',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  conditions: ['counterpoint-source'],
  chunkNames: 'chunks/[name]-[hash]',
  plugins: [inlineConstants],
};

/** What the compiler makes stays. */
const COMPILED = /^types$|-types$|\.tsbuildinfo$/;
for (const dir of [core, trace, node]) {
  for (const name of existsSync(`${dir}/dist`) ? readdirSync(`${dir}/dist`) : [])
    if (!COMPILED.test(name)) rmSync(`${dir}/dist/${name}`, { recursive: true });
}

const anywhere = { ...common, platform: 'neutral', mainFields: ['module', 'main'] };

/**
 * All entries of a package in one build. One entry more imports them all and is thrown away: so no
 * module is of one entry alone. esbuild 0.28 exports constants twice from an entry that has them for
 * itself, where others name them.
 */
async function bundleEntries(dir, entryPoints, plugins) {
  const contents = entryPoints.map((entry, n) => `export * as e${n} from './${entry.in}';`).join('\n');
  const stdin = { contents, resolveDir: '.', sourcefile: 'all-entries.js' };
  const outdir = `${dir}/dist`;
  await build({ ...anywhere, plugins, stdin, entryPoints, outdir });
  for (const end of ['.js', '.js.map']) rmSync(`${outdir}/stdin${end}`);
  dropBareImports(outdir);
}

/**
 * esbuild keeps the order of evaluation by imports without names. No module here does anything when it is
 * loaded, and a bundler would take what they name for needed. Lines keep their numbers.
 */
function dropBareImports(outdir) {
  for (const path of readdirSync(outdir, { recursive: true }).map((name) => `${outdir}/${name}`)) {
    if (!path.endsWith('.js')) continue;
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(/^import "\.[^"]*";$/gm, ''));
  }
}

await bundleEntries(core, entriesOf(core), [inlineConstants]);
await bundleEntries(
  trace,
  entriesOf(trace).filter(({ out }) => out !== WORKER),
  [coreOutside, inlineConstants],
);

// A browser's worker has no map of imports: it is whole.
await build({
  ...anywhere,
  splitting: false,
  entryPoints: entriesOf(trace).filter(({ out }) => out === WORKER),
  outdir: `${trace}/dist`,
});

await build({
  ...common,
  platform: 'node',
  external: ['koffi', '@swc/wasm-typescript'],
  entryPoints: [...entriesOf(node), { in: `${node}/src/cli/main.ts`, out: 'cli' }, ...NODE_PROGRAMS],
  outdir: `${node}/dist`,
});

// Verbs that are short once more as scripts: V8 keeps what it has compiled of a script (`cli/start`),
// not of modules before Node 22. V8 takes up all of a script, so it has nothing of other verbs. Its
// text is of one byte a character.
const script = { ...common, platform: 'node', format: 'cjs', splitting: false, charset: 'ascii' };
const main = `${node}/src/cli/main.ts`;
const kinds = await build({
  entryPoints: [`${node}/src/cli/start/run-kind.ts`],
  format: 'esm',
  write: false,
});
const kindsUrl = `data:text/javascript;base64,${Buffer.from(kinds.outputFiles[0].contents).toString('base64')}`;
const { verbsOfScripts } = await import(kindsUrl);
const filesOfVerbs = [...readFileSync(main, 'utf8').matchAll(/name: '([^']+)',[^}]*?import\('(\.[^']+)'\)/g)];
const buildHash = createHash('sha256');

/** What `main.ts` loads for other verbs is not there. */
function onlyVerbs(verbs) {
  const own = filesOfVerbs.filter(([, name]) => verbs.includes(name.split(' ')[0])).map(([, , path]) => path);
  if (own.length < verbs.length) throw new Error(`main.ts lacks one of ${verbs}`);
  return {
    name: 'only-verbs',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ path, importer, kind }) =>
        importer.endsWith(main) && filesOfVerbs.some(([, , other]) => other === path) && !own.includes(path)
          ? { path: `${kind} of ${path}`, namespace: 'other-verb' }
          : undefined,
      );
      onLoad({ filter: /./, namespace: 'other-verb' }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(`${path}: this script has only ${verbs}`)});`,
      }));
    },
  };
}

for (const [file, verbs] of verbsOfScripts()) {
  const outfile = `${node}/dist/${file}`;
  await build({
    ...script,
    minifyWhitespace: true,
    external: ['koffi', '@swc/wasm-typescript'],
    define: { 'import.meta': 'counterpointMeta' },
    banner: { js: '(function (exports, require, module, counterpointMeta) {' },
    footer: { js: '})' },
    plugins: [onlyVerbs(verbs), inlineConstants],
    entryPoints: [main],
    outfile,
  });
  buildHash.update(readFileSync(outfile));
}
await build({
  ...script,
  define: { COUNTERPOINT_BUILD: JSON.stringify(buildHash.digest('hex').slice(0, 16)) },
  entryPoints: [`${node}/src/cli/start/start.ts`],
  outfile: `${node}/dist/start.cjs`,
});

// The decompressor is part of the bundles, and its licence wants to be told.
for (const dir of [core, node]) cpSync('node_modules/fzstd/LICENSE', `${dir}/dist/LICENSE-fzstd`);

// Help as files: `bin/counterpoint` shows it without starting Node. And as manual pages.
const { helpTexts, manualPages } = await import(new URL(`../${node}/dist/cli.js`, import.meta.url));
mkdirSync(`${node}/dist/help`);
for (const [name, text] of await helpTexts()) writeFileSync(`${node}/dist/help/${name}.txt`, text);
mkdirSync(`${node}/dist/man`);
for (const [name, text] of await manualPages()) writeFileSync(`${node}/dist/man/${name}`, text);

// The examples that the documentation names, for whoever has the package alone.
for (const folder of ['formats', 'intel-pt'])
  cpSync(`examples/${folder}`, `${node}/dist/examples/${folder}`, {
    recursive: true,
    filter: (path) => !path.endsWith('browser'),
  });

// What build-once.mjs looks at.
mkdirSync('dist', { recursive: true });
writeFileSync('dist/complete', '');
