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
import { basename, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { globSync } from '../glob.ts';
import { NODE_PROGRAMS } from '../node-programs.mjs';
import { COMMAND_ENTRY, commandLine, ownPackagesOnly, placesOf } from './compile-plugins.ts';
import { CompiledTests, FOLDER } from './compiled-tests.ts';
import { FROM_SOURCES, pathsFromSources } from './from-sources.ts';

const NODE_PACKAGE = 'packages/node';
/** `test/sources.ts` of the package. */
const SOURCE_OF_TEST = /\bsource(?:Program|Module)\('([^']+\.ts)'\)/g;

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
  const published = [{ in: COMMAND_ENTRY, out: 'command' }, ...NODE_PROGRAMS, ...entries];
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
