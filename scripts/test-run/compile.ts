/**
 * The test files of a run, and all that they import, compiled once. tsx does it in each process: a second of
 * CPU time for a file that reaches the command line, and again for each command that a test starts.
 *
 *     .test-build/PID-NAME/tests/packages/core/src/elf/elf.test.js    a test file
 *     .test-build/PID-NAME/tests/chunks/...                           what several of them import
 *     .test-build/PID-NAME/dist/command.js, soft-tracer.js, ...       programs that the tests and the product start
 *     .test-build/PID-NAME/sources/flight/index.js, ...               what else tests run in processes of their own
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { globSync } from '../glob.ts';
import { NODE_PROGRAMS } from '../node-programs.mjs';
import { FROM_SOURCES, pathsFromSources } from './from-sources.ts';

const FOLDER = '.test-build';
const NODE_PACKAGE = 'packages/node';
/** Of the product, what looks for its own files. Its tests look for those beside their sources. */
const PRODUCT = /\/packages\/node\/src\/(?!(?:.*\/)?test\/)(?!.*\.(?:test|fuzz|pmu)\.ts$)/;
/** `test/sources.ts` of the package. */
const SOURCE_OF_TEST = /\bsource(?:Program|Module)\('([^']+\.ts)'\)/g;
const COMMAND = `import { main } from './${NODE_PACKAGE}/src/cli/main.ts'; await main(process.argv.slice(2));`;

export class CompiledTests implements Disposable {
  readonly #folder: string;
  readonly #outputs: ReadonlyMap<string, string>;
  readonly #maps = new Map<string, SourceMap | null>();

  constructor(folder: string, outputs: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.#outputs = outputs;
  }

  /** What Node is to run: the compiled file, or the file itself where it runs from its sources. */
  programOf(path: string): string {
    return this.#outputs.get(path) ?? path;
  }

  /** The test file that a compiled file was made of. */
  sourceOf(program: string): string {
    for (const [path, output] of this.#outputs) if (output === program) return resolve(path);
    return program;
  }

  /** A text of a test, with places in compiled files as places in the sources. */
  readable(text: string): string {
    const place = new RegExp(
      `(?:file://)?(?:${process.cwd()}/)?(${FOLDER}/[^\\s:()'"]+\\.js):(\\d+):(\\d+)`,
      'g',
    );
    return text.replace(place, (whole, file: string, line: string, column: string) => {
      const entry = this.#mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (entry === undefined || !('originalSource' in entry)) return whole;
      const source = relative('.', resolve(dirname(file), entry.originalSource));
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
  }

  #mapOf(file: string): SourceMap | null {
    let map = this.#maps.get(file);
    if (map === undefined) {
      const path = `${file}.map`;
      map = existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null;
      this.#maps.set(file, map);
    }
    return map;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Where a source is wrong, the run goes on from the sources: then the file that reaches it is red by itself.
 */
export async function compileTests(paths: readonly string[]): Promise<CompiledTests> {
  removeLeft();
  mkdirSync(FOLDER, { recursive: true });
  const folder = resolve(mkdtempSync(`${FOLDER}/${process.pid}-`));
  // Some tests start programs as another user.
  chmodSync(folder, 0o755);
  const apart = pathsFromSources(readFileSync(FROM_SOURCES, 'utf8'));
  const compiled = paths.filter((path) => path.endsWith('.ts') && !apart.has(path));
  try {
    await compile(compiled, folder);
  } catch (error) {
    console.log(
      `The tests run from their sources, because not all could be compiled: ${(error as Error).message}`,
    );
    return new CompiledTests(folder, new Map());
  }
  return new CompiledTests(
    folder,
    new Map(compiled.map((path) => [path, `${join(folder, nameOf(path))}.js`])),
  );
}

/** Of runs that were killed. */
function removeLeft(): void {
  for (const name of existsSync(FOLDER) ? readdirSync(FOLDER) : [])
    if (!existsSync(`/proc/${name.split('-')[0]}`))
      rmSync(join(FOLDER, name), { recursive: true, force: true });
}

/** Below the folder, also for a file that is not below the working directory. */
function nameOf(path: string): string {
  return `tests/${relative('.', path).replace(/\.ts$/, '').replaceAll('../', 'up/')}`;
}

async function compile(paths: readonly string[], folder: string): Promise<void> {
  const hasPackage = existsSync(NODE_PACKAGE);
  const manifest = hasPackage ? ownManifest() : { type: 'module' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  await build({
    entryPoints: [
      ...paths.map((path) => ({ in: resolve(path), out: nameOf(path) })),
      ...(hasPackage ? programs() : []),
    ],
    outdir: folder,
    chunkNames: 'tests/chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['counterpoint-source'],
    // Nothing but this run reads the maps: a recorded test is as one without.
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
    define: { COMPILED_FOLDER: JSON.stringify(hasPackage ? folder : null) },
    plugins: [commandLine, ownPackagesOnly, placesOf(folder)],
  });
}

/**
 * The package as it is published: what loads `counterpoint` in a process of the
 * tests gets what the tests have.
 */
function ownManifest(): object {
  const manifest = JSON.parse(readFileSync(`${NODE_PACKAGE}/package.json`, 'utf8'));
  for (const places of Object.values<Record<string, string>>(manifest.exports))
    delete places['counterpoint-source'];
  return manifest;
}

function programs(): { in: string; out: string }[] {
  const entries = globSync([`${NODE_PACKAGE}/src/entries`], /\.ts$/).map((path) => ({
    in: path,
    out: basename(path, '.ts'),
  }));
  const published = [{ in: 'command-line-of-tests', out: 'command' }, ...NODE_PROGRAMS, ...entries];
  return [...published.map((entry) => ({ ...entry, out: `dist/${entry.out}` })), ...sourcesOfTests()];
}

/** What tests run, or import, in processes of their own. */
function sourcesOfTests(): { in: string; out: string }[] {
  const paths = new Set<string>();
  for (const file of globSync([`${NODE_PACKAGE}/src`], /\.ts$/))
    for (const [, path] of readFileSync(file, 'utf8').matchAll(SOURCE_OF_TEST)) paths.add(path!);
  return [...paths].map((path) => ({
    in: `${NODE_PACKAGE}/src/${path}`,
    out: `sources/${path.replace(/\.ts$/, '')}`,
  }));
}

const commandLine: Plugin = {
  name: 'command-line',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^command-line-of-tests$/ }, ({ path }) => ({ path, namespace: 'command-line' }));
    onLoad({ filter: /./, namespace: 'command-line' }, () => ({
      contents: COMMAND,
      resolveDir: process.cwd(),
    }));
  },
};

/** What npm installs stays where it is. */
const ownPackagesOnly: Plugin = {
  name: 'own-packages-only',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || /^(?:@counterpoint\/|counterpoint(?:$|\/))/.test(path)
        ? undefined
        : { external: true },
    );
  },
};

/**
 * `import.meta` of a test is that of its source; of the product, that of a file in the `dist` of this run.
 */
function placesOf(folder: string): Plugin {
  const product = JSON.stringify(pathToFileURL(join(folder, 'dist/index.js')).href);
  return {
    name: 'places',
    setup({ onLoad }) {
      onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        const loader = path.endsWith('ts') ? 'ts' : 'js';
        if (PRODUCT.test(path)) return { contents: text.replaceAll('import.meta.url', product), loader };
        const url = JSON.stringify(pathToFileURL(path).href);
        const contents = text
          .replaceAll('import.meta.url', url)
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
          .replaceAll(
            'import.meta.resolve(',
            `((name) => name.startsWith(".") ? new URL(name, ${url}).href : import.meta.resolve(name))(`,
          );
        return { contents, loader };
      });
    },
  };
}
