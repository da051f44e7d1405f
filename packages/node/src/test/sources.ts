/**
 * Sources that a test runs, or imports, in a process of its own. `npm test` has compiled them (compile.ts).
 */

import { fileURLToPath, pathToFileURL } from 'node:url';

/** The folder of what was compiled; not defined where the tests run from their sources. */
declare const COMPILED_FOLDER: string | null;

const CONDITION = '--conditions=counterpoint-source';

/** Options of Node, with which a process can import what `sourceModule` gives. */
export function sourceOptions(): string[] {
  return isCompiled() ? [CONDITION] : ['--import', import.meta.resolve('tsx'), CONDITION];
}

/**
 * The URL of a module, by its path below `packages/node/src`. It is compiled where the path is written out.
 */
export function sourceModule(path: string): string {
  if (isCompiled()) return pathToFileURL(`${COMPILED_FOLDER}/sources/${path.replace(/\.ts$/, '.js')}`).href;
  return new URL(`../${path}`, import.meta.url).href;
}

/** Arguments of Node for a program, by its path below `packages/node/src`. */
export function sourceProgram(path: string): string[] {
  return [...sourceOptions(), fileURLToPath(sourceModule(path))];
}

/** Arguments of Node for the command line. */
export function commandLineProcess(): string[] {
  if (isCompiled()) return [CONDITION, `${COMPILED_FOLDER}/dist/command.js`];
  const main = JSON.stringify(sourceModule('cli/main.ts'));
  const script = `const { main } = await import(${main}); await main(process.argv.slice(1));`;
  return [...sourceOptions(), '--input-type=module', '-e', script, '--'];
}

function isCompiled(): boolean {
  return typeof COMPILED_FOLDER === 'string';
}
